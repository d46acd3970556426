"""What editing JSON and YAML has in common: a text with a tree of positions over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from toolcrib.edit.changes import Change, Drop, Key, Place, nested
from toolcrib.edit.splices import Splice, newline_of, spliced


class TreeEdit(Protocol):
    """Finds in one tree what has to be spliced for a change."""

    def put(self, place: Place, value: Any) -> list[Splice]: ...

    def drop(self, place: Place) -> list[Splice]: ...


class Keyed(Protocol):
    @property
    def key(self) -> str: ...


_Child = TypeVar("_Child", bound=Keyed)


def changed_text(text: str, change: Change, edit: TreeEdit | None, rendered: Callable[[Any, str], str]) -> str:
    """The text after one change; without a tree it holds nothing yet, and `rendered` writes its first value."""
    if edit is not None:
        return spliced(
            text, edit.drop(change.place) if isinstance(change, Drop) else edit.put(change.place, change.value)
        )
    if isinstance(change, Drop):
        return text
    newline = newline_of(text)
    lead = text if not text or text.endswith("\n") else text + newline
    return lead + rendered(nested(change.place, change.value), newline) + newline


def child_at(children: Sequence[_Child] | None, key: Key, *, is_map: bool) -> _Child | None:
    """The child of that name or number; `children` is None for what holds nothing."""
    if children is None or isinstance(key, str) != is_map:
        return None
    if isinstance(key, int):
        return children[key] if 0 <= key < len(children) else None
    return next((child for child in children if child.key == key), None)
