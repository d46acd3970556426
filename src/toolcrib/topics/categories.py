"""What kind of thing a tool does, told from its name."""

from __future__ import annotations

from functools import lru_cache

from toolcrib.model.snake_case import snake_case
from toolcrib.topics.domains import REMEMBERED

OTHER = "other"
# At most one of these.
_CRUD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("crud.read", ("list_", "get_", "read_", "fetch_", "download_", "search_", "find_")),
    ("crud.create", ("create_", "add_", "new_", "post_")),
    ("crud.update", ("update_", "edit_", "modify_", "patch_")),
    ("crud.delete", ("delete_", "remove_", "drop_")),
)
# Any of these beside it: by the beginning of the name, or by what the name contains.
_MORE: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("search", ("search_", "find_"), "_search"),
    ("notify", ("send_", "notify_"), "_message"),
    ("transform", ("transform_", "convert_", "format_"), None),
    ("validate", ("validate_", "check_", "verify_"), None),
    ("upload", ("upload_",), "_upload"),
)
CATEGORIES = (*(name for name, _ in _CRUD), *(name for name, _, _ in _MORE), OTHER)


def infer_categories(tool: str) -> list[str]:
    """The categories of a tool of that name, `other` where none fits."""
    return list(_categories(tool))


@lru_cache(maxsize=REMEMBERED)
def _categories(tool: str) -> tuple[str, ...]:
    name = snake_case(tool)
    crud = next((category for category, prefixes in _CRUD if name.startswith(prefixes)), None)
    more = [
        category
        for category, prefixes, inside in _MORE
        if name.startswith(prefixes) or (inside is not None and inside in name)
    ]
    return tuple([crud, *more] if crud else more) or (OTHER,)
