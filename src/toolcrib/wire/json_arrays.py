"""JSON arrays taken apart without decoding what is in them."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolcrib.wire.jsonrpc import Json

_split = msgspec.json.Decoder(list[Raw]).decode


def items_of(text: Json | UnsetType, most_values: int) -> list[Raw] | None:
    """The items of an array, each still JSON text; nothing where it is no array, None where it may hold too many values.

    Even as text each item takes 64 bytes of memory, so an array of millions of numbers is not split at all. Every value
    but the first follows a comma, which are counted in no time; commas inside of texts make the count a little too high.
    """
    if text is UNSET:
        return []
    if len(text) > most_values and bytes(text).count(b",") >= most_values:
        return None
    try:
        return _split(text)
    except (msgspec.DecodeError, RecursionError):
        return []
