"""Edit the bytes of a configuration file; the result is read back before anyone gets it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.edit.changes import Change, EditRefused, changed_data
from toolcrib.edit.json_splice import edit_json, json_data
from toolcrib.edit.toml_splice import edit_toml
from toolcrib.edit.toml_statements import toml_data
from toolcrib.edit.yaml_splice import edit_yaml
from toolcrib.edit.yaml_tree import yaml_data

Format = Literal["json", "toml", "yaml"]
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _Language:
    parse: Callable[[str], Any]
    edit: Callable[[str, Change], str]
    has_empty_maps: bool = True


_LANGUAGES = {
    "json": _Language(json_data, edit_json),
    "toml": _Language(toml_data, edit_toml, has_empty_maps=False),
    "yaml": _Language(yaml_data, edit_yaml),
}


def edited(content: bytes, language: Format, changes: Sequence[Change]) -> bytes:
    """The bytes after the changes: comments, order, indentation, line endings and byte order mark are kept.

    EditRefused when the text cannot be edited so that it means exactly what was asked.
    """
    mark = _BYTE_ORDER_MARK if content.startswith(_BYTE_ORDER_MARK) else b""
    before = _decoded(content.removeprefix(mark))
    rules = _LANGUAGES[language]
    wanted = changed_data(rules.parse(before), changes)
    after = before
    for change in changes:
        after = rules.edit(after, change)
    if not _is_same(rules.parse(after) or {}, wanted, rules):
        raise EditRefused("the file is written in a way that cannot be edited safely")
    try:
        return mark + after.encode()
    except UnicodeEncodeError:
        raise EditRefused("it would hold half a character, which no file can") from None


def _is_same(found: Any, wanted: Any, rules: _Language) -> bool:
    # Where the last table of a family is gone, TOML has no line left to say that the family is empty.
    return bool(found == wanted or (not rules.has_empty_maps and _filled(found) == _filled(wanted)))


def _filled(data: Any) -> Any:
    if isinstance(data, list):
        return [_filled(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {key: inner for key, value in data.items() if (inner := _filled(value)) not in ({}, [])}


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise EditRefused("the file is not UTF-8 text") from None
