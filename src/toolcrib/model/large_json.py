"""What can be told of large JSON without an object for each value in it: a few megabytes of text would take hundreds."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import Raw

# Up to here nothing is counted first: whatever is in it takes a few megabytes.
SMALL_BYTES = 256 * 1024
MOST_VALUES = 524_288
_MOST_MEMBERS = 10_000
_FEW = 512


class _Known(msgspec.Struct):
    """The members of an answer that may be large, and what is often beside them; whatever else there is, is small."""

    content: Raw = Raw(b"")
    structured: Raw = msgspec.field(name="structuredContent", default=Raw(b""))
    contents: Raw = Raw(b"")
    messages: Raw = Raw(b"")
    result: Raw = Raw(b"")
    meta: Raw = msgspec.field(name="_meta", default=Raw(b""))
    is_error: Raw = msgspec.field(name="isError", default=Raw(b""))
    result_type: Raw = msgspec.field(name="resultType", default=Raw(b""))
    ttl: Raw = msgspec.field(name="ttlMs", default=Raw(b""))
    cache_scope: Raw = msgspec.field(name="cacheScope", default=Raw(b""))


_NAMES = tuple(field.encode_name for field in msgspec.structs.fields(_Known))


class _Anything(msgspec.Struct, gc=False):
    """An object of which nothing is read."""


_members = msgspec.json.Decoder(dict[str, Raw]).decode
_known = msgspec.json.Decoder(_Known).decode
_objects = msgspec.json.Decoder(list[_Anything]).decode


def has_few(text: bytes | Raw, mark: bytes) -> bool:
    """Whether a sign stands in JSON only so often that whatever it belongs to is soon decoded; a long text is one value.

    Each object has a brace and each member a colon. Looking for them takes a tenth of the time of reading the text.
    """
    if len(text) <= SMALL_BYTES:
        return True
    whole, at = bytes(text), -1
    for _ in range(_FEW):
        at = whole.find(mark, at + 1)  # far quicker than to count all of them
        if at < 0:
            return True
    return False


def members_of_large(text: bytes | Raw) -> dict[str, Raw]:
    """The members of an answer, each still undecoded; raises DecodeError where it is no object, or one of far too many."""
    if has_few(text, b":"):
        return _members(text)
    known = {name: value for name, value in zip(_NAMES, msgspec.structs.astuple(_known(text)), strict=True) if value}
    # Written without spaces, as most encoders do, there is no room for any other member.
    if len(text) == sum(len(name) + len(value) + len('"":,') for name, value in known.items()) + len("{}") - 1:
        return known
    if _has_too_many_members(text, known.values()):
        raise msgspec.ValidationError("it has too many members")
    return _members(text)


def _has_too_many_members(text: bytes | Raw, known: Collection[Raw]) -> bool:
    if len(text) - sum(map(len, known)) <= SMALL_BYTES:
        return False
    # Each member has a colon; those inside of texts make the count a little too high.
    return bytes(text).count(b":") - sum(bytes(one).count(b":") for one in known) > _MOST_MEMBERS


def count_of_objects(array: bytes | Raw) -> int:
    """How many objects a list holds; raises DecodeError where it is none, or has anything else in it."""
    return len(_objects(array))


def holds_more_values(text: bytes | Raw, most: int = MOST_VALUES) -> bool:
    """Whether there are more values than that; what is inside of a text is none."""
    whole = bytes(text)
    if len(whole) <= SMALL_BYTES or _openings(whole) <= most:
        return False
    plain = whole.replace(rb"\\", b"").replace(rb"\"", b"")
    # Every text is a value, or the name of one.
    if plain.count(b'"') > 4 * most:
        return True
    return sum(map(_openings, plain.split(b'"')[::2])) > most


def _openings(text: bytes) -> int:
    """How many values there can be: each is behind a comma, or the first one of a list or object."""
    return len(text) - len(text.translate(None, b",[{"))  # a third of the time of three counts


def small_value(text: bytes | Raw, most_bytes: int) -> Any:
    """The value of what is small wherever it makes sense; None where it is not, or can't be decoded."""
    if len(text) > most_bytes:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
