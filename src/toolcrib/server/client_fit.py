"""A result made ready for the client it goes to: nothing twice, nothing that the client would drop or cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from toolcrib.clients.display import ClientDisplay
from toolcrib.model.call import ToolResult

# As text, less than that may be copied a few times.
_LARGE_BYTES = 1024 * 1024

_encode = msgspec.json.Encoder().encode
_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode


def fitted(result: ToolResult, display: ClientDisplay) -> ToolResult:
    """The result with all it says in the members that the client shows its model."""
    structured = result.structured_json
    if structured is None or display.shows == "content":
        return result
    if result.text_repeats_structure:
        return _without_structured(result, [])
    if _is_left_out(structured, display):
        return result
    # Where structuredContent takes the place of the content, the content has to hold both.
    return result if display.shows == "both" else _without_structured(result, [_text_block(structured)])


def _is_left_out(structured: bytes, display: ClientDisplay) -> bool:
    """Whether a handle will take its place in any case: as text it would be copied again and again for that."""
    return len(structured) > _LARGE_BYTES and display.max_bytes is not None and len(structured) > display.max_bytes


def fitted_members(members: Mapping[str, msgspec.Raw], display: ClientDisplay) -> dict[str, msgspec.Raw]:
    """The same for an answer that is shaped already."""
    if "structuredContent" not in members or display.shows == "content":
        return dict(members)
    return fitted(_joined(members), display).members


def limit_for(result: ToolResult, display: ClientDisplay, max_bytes: int) -> int:
    """How many bytes of text this result may have: none where the client would cut it for another reason than its bytes."""
    limit = max_bytes if display.max_bytes is None else min(max_bytes, display.max_bytes)
    if display.counts_bytes_only:
        return limit
    content = bytes(result.members.get("content", b""))
    if display.max_lines is not None and content.count(b"\\n") >= display.max_lines:
        return 0
    beside = len(result.structured_json or b"") if display.shows == "both" else 0
    if (display.is_quoted or beside) and len(content) + beside > limit:
        shown = sum(display.size(text) for text in result.texts) + beside
        return 0 if shown > limit else limit
    return limit


def _text_block(text: bytes) -> bytes:
    return b'{"type":"text","text":%b}' % _encode(text.decode("utf-8", "replace"))


def _without_structured(result: ToolResult, more: Sequence[bytes]) -> ToolResult:
    """The result less its structured content, with more blocks behind those it has."""
    try:
        blocks = [*map(bytes, _blocks(result.members.get("content", b"[]"))), *more]
    except msgspec.DecodeError:
        return result
    members = {name: value for name, value in result.members.items() if name != "structuredContent"}
    return _joined(members | {"content": msgspec.Raw(b"[%b]" % b",".join(blocks))})


def _joined(members: Mapping[str, msgspec.Raw]) -> ToolResult:
    return ToolResult(b"{%b}" % b",".join(b"%b:%b" % (_encode(name), bytes(v)) for name, v in members.items()))
