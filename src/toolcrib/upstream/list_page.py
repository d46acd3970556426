"""One page of a server's list, split into entries that stay JSON text: what nobody looks at is never decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolcrib.model.reading import ListKind
from toolcrib.wire.json_arrays import items_of
from toolcrib.wire.jsonrpc import Json

_MOST_CURSOR_BYTES = 64 * 1024
_MOST_NUMBER_BYTES = 32


class UnreadableList(Exception):
    """A list that can't be read, or holds so much that we do not try."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page holds, how long the server calls it fresh, and where the next page is."""

    entries: Sequence[Raw] = ()
    ttl_seconds: float | None = None
    next_cursor: str | None = None


class _Fields(msgspec.Struct):
    tools: Raw | UnsetType = UNSET
    resources: Raw | UnsetType = UNSET
    prompts: Raw | UnsetType = UNSET
    templates: Raw | UnsetType = msgspec.field(name="resourceTemplates", default=UNSET)
    ttl: Raw | UnsetType = msgspec.field(name="ttlMs", default=UNSET)
    cursor: Raw | UnsetType = msgspec.field(name="nextCursor", default=UNSET)


_decode = msgspec.json.Decoder(_Fields).decode


def read_page(text: Json, kind: ListKind, most_values: int) -> Page | None:
    """The page in `text`; None where it is no object, UnreadableList where it holds more than `most_values` values."""
    try:
        fields = _decode(text)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, RecursionError) as problem:
        raise UnreadableList(f"its list of {kind} can't be read: {problem}") from None
    entries = items_of(getattr(fields, kind), most_values)
    if entries is None:
        raise UnreadableList(f"its list of {kind} holds more than {most_values} values")
    return Page(entries, _seconds(fields.ttl), _cursor(fields.cursor))


def _seconds(milliseconds: Raw | UnsetType) -> float | None:
    value = _small(milliseconds, _MOST_NUMBER_BYTES)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(0.0, value / 1000)


def _cursor(text: Raw | UnsetType) -> str | None:
    value = _small(text, _MOST_CURSOR_BYTES)
    return value if isinstance(value, str) else None


def _small(text: Raw | UnsetType, most_bytes: int) -> object:
    """The value of a field that is small wherever it makes sense."""
    if text is UNSET or len(text) > most_bytes:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
