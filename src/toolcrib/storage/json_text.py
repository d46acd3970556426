"""Tool definitions and identities as JSON text, the form in which they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcrib.model.items import ITEM_KINDS, ItemKind, own_name
from toolcrib.model.reading import Identity
from toolcrib.model.tool import Tool

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_decode_identity = msgspec.json.Decoder(Identity).decode
_decode_users = msgspec.json.Decoder(dict[str, dict[str, int]]).decode
_decode_statuses = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A definition as it will be read back: its name, JSON text and fingerprint."""

    name: str
    definition: str = field(compare=False)
    fingerprint: str


def stored_tools(server: str, definitions: Iterable[Mapping[str, Any]]) -> dict[str, ToolRow]:
    """The named definitions in order, by name; of two with one name the first stays."""
    stored: dict[str, ToolRow] = {}
    for definition in definitions:
        if "name" not in definition:
            continue
        text = to_json(definition)
        tool = Tool.from_mcp(server, _decode_object(text))
        stored.setdefault(tool.name, ToolRow(tool.name, text, tool.fingerprint))
    return stored


@dataclass(frozen=True, slots=True)
class ItemRow:
    """The same of what a server offers besides tools."""

    kind: ItemKind
    name: str
    definition: str = field(compare=False)
    fingerprint: str


def stored_items(server: str, items: Iterable[tuple[ItemKind, Mapping[str, Any]]]) -> list[ItemRow]:
    """The items in order, kind by kind; of two with one name the first stays, and one that has no name is left out."""
    stored: dict[str, ItemRow] = {}
    for kind, definition in sorted(items, key=lambda one: ITEM_KINDS.index(one[0])):
        if own_name(kind, definition):
            text = to_json(definition)
            item = Tool.item(server, kind, _decode_object(text))
            stored.setdefault(item.name, ItemRow(kind, item.name, text, item.fingerprint))
    return list(stored.values())


def with_kept(listed: Sequence[ItemRow], known: Sequence[ItemRow], kinds: Sequence[str]) -> list[ItemRow]:
    """What was listed now, with what is known of kinds that were not."""
    kept = [row for row in known if row.kind in kinds]
    return sorted([*listed, *kept], key=lambda row: ITEM_KINDS.index(row.kind))


def identity_to_json(identity: Identity) -> str:
    return to_json(msgspec.to_builtins(identity))


def read_identity(text: str | None) -> Identity | None:
    """The identity stored, or None where there is none or a newer Toolcrib wrote one this one cannot follow."""
    try:
        return None if text is None else _decode_identity(text)
    except msgspec.ValidationError:
        return None


def read_statuses(text: str) -> dict[str, str]:
    return _decode_statuses(text)


def read_users(text: str) -> dict[str, dict[str, int]]:
    return _decode_users(text)


def read_object(text: str) -> dict[str, Any]:
    return _decode_object(text)


def to_json(value: object) -> str:
    """JSON text that any UTF-8 store can hold; half surrogate pairs are replaced."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(value)).decode()


def plain_text(text: str) -> str:
    """The text with each half of a surrogate pair replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, Mapping):
        return {plain_text(str(key)): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
