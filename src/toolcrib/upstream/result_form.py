"""Whether what a server gave back has the form of a result and a size that can be dealt with, so that a client can read it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from toolcrib.model.call import ToolResult
from toolcrib.model.items import ItemKind
from toolcrib.model.large_json import MOST_VALUES, SMALL_BYTES, count_of_objects, has_few, holds_more_values

# What each kind of content has to have as a text; of kinds that we do not know nothing is asked.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mime_type"),
    "audio": ("data", "mime_type"),
    "resource_link": ("uri",),
}

MOST_BLOCKS = 10_000
# What a server asks, or says of a task, is decoded as a whole.
MOST_INTERIM_BYTES = 1024 * 1024


class _Block(msgspec.Struct):
    """As much of a content block as has a form; what is in the texts stays undecoded."""

    type: str
    text: Raw = Raw(b"")
    data: Raw = Raw(b"")
    mime_type: Raw = msgspec.field(name="mimeType", default=Raw(b""))
    uri: Raw = Raw(b"")


_NO_BLOCKS = "content is not a list of content blocks"
_blocks = msgspec.json.Decoder(list[_Block]).decode


def fault_of(result: ToolResult, kind: ItemKind) -> str:
    """What is wrong with a result of a tool, a prompt or a resource, in a few words; nothing where a client can read it."""
    if len(result.raw) > SMALL_BYTES and (excess := _excess_of(result, kind)):
        return excess
    return _fault_of_form(result) if kind == "tool" and result.is_complete else ""


def _excess_of(result: ToolResult, kind: ItemKind) -> str:
    """What there is too much of in a large result."""
    if not result.is_complete:
        too_much = len(result.raw) > MOST_INTERIM_BYTES
        return f"what is no result yet has more than {MOST_INTERIM_BYTES} bytes" if too_much else ""
    if kind != "tool":
        return f"it holds more than {MOST_VALUES} values" if holds_more_values(result.raw) else ""
    if has_few(result.raw, b"{") or result.is_one_text:
        return ""
    try:
        too_many = count_of_objects(result.members.get("content", b"[]")) > MOST_BLOCKS
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NO_BLOCKS
    return f"content has more than {MOST_BLOCKS} blocks" if too_many else ""


def _fault_of_form(result: ToolResult) -> str:
    members = result.members
    if "isError" in members and bytes(members["isError"]) not in (b"true", b"false"):
        return "isError is neither true nor false"
    # Some servers write null for what they leave out, and many clients read it so.
    if "_meta" in members and not bytes(members["_meta"]).startswith((b"{", b"null")):
        return "_meta is no object"
    if result.is_one_text:
        return ""
    try:
        blocks = _blocks(members.get("content", b"[]"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NO_BLOCKS
    for block in blocks:
        for name in _TEXTS.get(block.type, ()):
            if bytes(memoryview(getattr(block, name))[:1]) != b'"':
                return f"a content block of type {block.type[:32]!r} is incomplete"
    return ""
