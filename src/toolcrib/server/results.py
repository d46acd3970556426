"""How a tool's result is handed to an agent: spliced, passed on, or shelved when it is too large."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec

from toolcrib.model.call import ExecutionError, ToolResult
from toolcrib.server.render import encode, failure, text_members, text_result

Shape = Literal["auto", "envelope", "passthrough"]
Keep = Callable[[bytes], str]
Members = dict[str, msgspec.Raw]

PREVIEW_CHARACTERS = 2_000
READ_MORE = (
    "For more: execute_tool, server toolcrib, tool read_result, arguments {handle, offset?, length?, pointer?, grep?}."
)
_HOP_META = b"io.modelcontextprotocol/"
_HOP_MEMBERS = frozenset({"resultType", "ttlMs", "cacheScope"})
_OPENS_JSON = re.compile(rb'"(?: |\\[nrt])*[{\[]')
_validate_json = msgspec.json.Decoder(msgspec.Raw).decode
_text = msgspec.json.Decoder(str).decode


class _Block(msgspec.Struct):
    """As much of a content block as tells what it is."""

    type: Any = None


_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode
_block = msgspec.json.Decoder(_Block).decode


def shape_result(result: ToolResult, shape: Shape, max_bytes: int, keep: Keep) -> Members:
    """The members of the answer to `execute_tool`; nothing of the payload is decoded and encoded again."""
    members = {"content": msgspec.Raw(b"[]")} | _passed_on(result)
    if shape == "passthrough":
        return members
    quoted = _json_text(result)
    if quoted is not None:
        return _spliced_text(quoted, members, max_bytes, keep)
    payload = result.structured_json
    if payload is None and shape == "envelope":
        payload = encode(_words(result))
    if payload is None:
        return _bounded_blocks(result, members, max_bytes, keep)
    others = _other_blocks(members)
    if len(payload) > max_bytes:
        return _meta_of(members) | _followed_by(others, _preview(payload, keep))
    kept = {name: value for name, value in members.items() if name != "content"}
    return _followed_by(others, text_members(b'{"success":true,"result":%b}' % payload)) | kept


def shape_failure(error: ExecutionError, result: ToolResult | None, max_bytes: int, keep: Keep) -> Members:
    """The members of the answer to a call that failed; what the tool gave beside its words stays."""
    answer = text_result(failure(_bounded_error(error, max_bytes, keep)), is_error=True)
    if result is None:
        return answer
    passed_on = _passed_on(result)
    kept = _meta_of(passed_on)
    if len(structured := passed_on.get("structuredContent", msgspec.Raw(b""))) in range(1, max_bytes + 1):
        kept["structuredContent"] = structured
    return _followed_by(_other_blocks(passed_on), answer) | kept


def _passed_on(result: ToolResult) -> Members:
    """The members less what belongs to the hop between the server and us."""
    members = {name: value for name, value in result.members.items() if name not in _HOP_MEMBERS}
    if _HOP_META in bytes(members.get("_meta", b"")):
        meta = msgspec.json.decode(members.pop("_meta"), type=dict[str, msgspec.Raw])
        if kept := {name: value for name, value in meta.items() if not name.startswith(_HOP_META.decode())}:
            members["_meta"] = msgspec.Raw(encode(kept))
    return members


def _json_text(result: ToolResult) -> bytes | None:
    """The only text as the JSON string it came in, where it holds a JSON object or array and nothing better is there."""
    quoted = result.only_text_json if result.structured_json is None else None
    if quoted is None or not _OPENS_JSON.match(quoted):
        return None
    try:
        _validate_json(_text(quoted))
    except (ValueError, RecursionError):
        return None
    return quoted


def _spliced_text(quoted: bytes, members: Members, max_bytes: int, keep: Keep) -> Members:
    """The text in its envelope, without unquoting and quoting it again; a preview where it is too large."""
    if len(quoted) > max_bytes and len(payload := _text(quoted).encode()) > max_bytes:
        return _meta_of(members) | _preview(payload, keep)
    content = b'[{"type":"text","text":"{\\"success\\":true,\\"result\\":%b}"}]' % quoted[1:-1]
    return members | {"content": msgspec.Raw(content)}


def _words(result: ToolResult) -> str | list[str] | None:
    """The text of a result that is no JSON, one string for each block."""
    texts = [str(block.get("text", "")) for block in result.content if block.get("type") == "text"]
    if len(texts) > 1:
        return texts
    return texts[0] if texts else None


def _bounded_blocks(result: ToolResult, members: Members, max_bytes: int, keep: Keep) -> Members:
    """Blocks as they came; text that is too large in all becomes a preview, images and other blocks pass."""
    if len(members["content"]) <= max_bytes:
        return members
    text = result.text.encode("utf-8", "replace")
    if len(text) <= max_bytes:
        return members
    return members | _followed_by(_other_blocks(members), _preview(text, keep))


def _other_blocks(members: Members) -> list[msgspec.Raw]:
    """The blocks that are not text, as they came."""
    try:
        return [block for block in _blocks(members["content"]) if _block(block).type != "text"]
    except (KeyError, msgspec.ValidationError):
        return []


def _followed_by(others: Sequence[msgspec.Raw], answer: Members) -> Members:
    """`answer`, whose content is one block, with the others behind it."""
    if not others:
        return answer
    first = bytes(answer["content"])[1:-1]
    return answer | {"content": msgspec.Raw(b"[%b]" % b",".join([first, *map(bytes, others)]))}


def _preview(payload: bytes, keep: Keep) -> Members:
    return text_result(
        {
            "success": True,
            "truncated": True,
            "bytes": len(payload),
            "preview": _beginning(payload),
            "handle": keep(payload),
            "hint": READ_MORE,
        }
    )


def _bounded_error(error: ExecutionError, max_bytes: int, keep: Keep) -> ExecutionError:
    message = error.message.encode("utf-8", "replace")
    if len(message) <= max_bytes:
        return error
    more = {"truncated": True, "bytes": len(message), "handle": keep(message), "readMore": READ_MORE}
    return replace(error, message=_beginning(message) + "…", details={**error.details, **more})


def _beginning(payload: bytes) -> str:
    return payload[: PREVIEW_CHARACTERS * 4].decode("utf-8", "ignore")[:PREVIEW_CHARACTERS]


def _meta_of(members: Members) -> Members:
    return {"_meta": members["_meta"]} if "_meta" in members else {}
