"""How a tool's result is handed to an agent: spliced, passed on, or shelved when it is too large."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec

from toolcrib.model.call import ExecutionError, ToolResult
from toolcrib.queries.json_forms import failure_json
from toolcrib.server.render import encode, text_members, text_result

Shape = Literal["auto", "envelope", "passthrough"]
Keep = Callable[[bytes], str]
Members = dict[str, msgspec.Raw]

PREVIEW_CHARACTERS = 2_000
READ_MORE = "To read more: execute_tool, server toolcrib, tool read_result, arguments {handle, offset?, length?, pointer?, grep?}."
# What neither a model nor a person reads (`_meta`, annotations) may have this much in all, or as much as the result.
_MOST_BESIDE_BYTES = 64 * 1024
# A server that puts members of the hop into more than this means us no good.
_MOST_HOP_META_BYTES = 1024 * 1024
_HOP_META = b"io.modelcontextprotocol/"
CACHE_HINTS = frozenset({"ttlMs", "cacheScope"})
_HOP_MEMBERS = CACHE_HINTS | {"resultType"}
_INTERIM_MEMBERS = frozenset({"resultType", "inputRequests", "requestState"})
# Bounded by their own rules, and a word.
_BOUNDED_ELSEWHERE = frozenset({"content", "structuredContent", "isError"})
_OPENS_JSON = re.compile(rb'"(?: |\\[nrt])*[{\[]')
_validate_json = msgspec.json.Decoder(msgspec.Raw).decode
_text = msgspec.json.Decoder(str).decode


class _Block(msgspec.Struct):
    """As much of a content block as tells what it is."""

    type: Any = None
    text: msgspec.Raw = msgspec.Raw(b"")


_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_block = msgspec.json.Decoder(_Block).decode


def shape_result(result: ToolResult, shape: Shape, max_bytes: int, keep: Keep) -> Members:
    """The members of the answer to `execute_tool`; nothing of the payload is decoded and encoded again."""
    members = {"content": msgspec.Raw(b"[]")} | passed_on(result)
    if shape == "passthrough":
        return members
    return _bounded(_worded(result, members, shape, max_bytes, keep), result, max_bytes, keep)


def interim_members(result: ToolResult) -> Members:
    """The members of what a server answers before there is a result, as they came."""
    kept = {name: value for name, value in result.members.items() if name in _INTERIM_MEMBERS}
    meta = passed_on(result).get("_meta")
    return kept if meta is None else kept | {"_meta": meta}


def shape_failure(error: ExecutionError, result: ToolResult | None, max_bytes: int, keep: Keep) -> Members:
    """The members of the answer to a call that failed; what the tool gave beside its words stays."""
    answer = text_result(failure_json(_bounded_error(error, max_bytes, keep)), is_error=True)
    if result is None:
        return answer
    members = passed_on(result)
    kept = {name: members[name] for name in ("_meta", "structuredContent") if name in members}
    return _bounded(_followed_by(_other_blocks(members), answer) | kept, result, max_bytes, keep)


def _worded(result: ToolResult, members: Members, shape: Shape, max_bytes: int, keep: Keep) -> Members:
    """The answer with its text as the shape wants it: JSON in the envelope, the rest as it came, or all in the envelope."""
    quoted = _json_text(result)
    if quoted is not None:
        return members | _spliced_text(quoted, result.only_block, max_bytes, keep)
    payload = _payload(result, shape)
    if payload is None:
        return _bounded_blocks(result, members, max_bytes, keep)
    is_large = len(payload) > max_bytes
    answer = _preview(payload, keep) if is_large else text_members(b'{"success":true,"result":%b}' % payload)
    return members | _followed_by(_other_blocks(members), answer)


def _payload(result: ToolResult, shape: Shape) -> bytes | None:
    """What is put into the envelope besides JSON text: structured content in place of no text, or any text at all."""
    if result.has_text:
        return encode(_words(result)) if shape == "envelope" else None
    return result.structured_json or (b"null" if shape == "envelope" else None)


def _bounded(answer: Members, result: ToolResult, max_bytes: int, keep: Keep) -> Members:
    """The answer with a handle in place of what is too large besides its content."""
    if len(result.raw) <= min(max_bytes, _MOST_BESIDE_BYTES):
        return answer
    return _bounded_beside(_bounded_structure(answer, result, max_bytes, keep), max_bytes, keep)


def _bounded_beside(answer: Members, max_bytes: int, keep: Keep) -> Members:
    """`_meta` and members that we don't know, as they came where they are small."""
    beside = {name: value for name, value in answer.items() if name not in _BOUNDED_ELSEWHERE}
    if not beside or sum(map(len, beside.values())) <= max(max_bytes, _MOST_BESIDE_BYTES):
        return answer
    kept = {name: value for name, value in answer.items() if name in _BOUNDED_ELSEWHERE}
    return _with_handle(kept, "otherMembers", encode(beside), keep)


def _with_handle(answer: Members, name: str, payload: bytes, keep: Keep) -> Members:
    """The answer with a block behind the others that tells how what was left out of it can be read."""
    handle = {"truncated": True, "bytes": len(payload), "handle": keep(payload)}
    note = bytes(text_result({name: handle, "hint": READ_MORE})["content"])
    return answer | {"content": msgspec.Raw(b"%b,%b" % (bytes(answer["content"])[:-1], note[1:]))}


def _bounded_structure(answer: Members, result: ToolResult, max_bytes: int, keep: Keep) -> Members:
    """Structured content as it came; where it is too large, only a handle, unless what is said already has all of it."""
    structured = bytes(answer.get("structuredContent", b""))
    if len(structured) <= max_bytes:
        return answer
    kept = {name: value for name, value in answer.items() if name != "structuredContent"}
    if not result.has_text or result.text_repeats_structure:
        return kept
    return _with_handle(kept, "structuredContent", structured, keep)


def passed_on(result: ToolResult, keeps: Collection[str] = ()) -> Members:
    """The members less what belongs to the hop between the server and us, unless it is kept."""
    hop = _HOP_MEMBERS.difference(keeps) if keeps else _HOP_MEMBERS
    members = {name: value for name, value in result.members.items() if name not in hop}
    meta = members.get("_meta", msgspec.Raw(b""))
    if bytes(meta) == b"null" or (len(meta) > _MOST_HOP_META_BYTES and _HOP_META in bytes(meta)):
        del members["_meta"]
        return members
    if _HOP_META in bytes(meta) and bytes(meta).lstrip().startswith(b"{"):
        kept = {name: value for name, value in _members(meta).items() if not name.startswith(_HOP_META.decode())}
        members["_meta"] = msgspec.Raw(encode(kept))
        if not kept:
            del members["_meta"]
    return members


def _json_text(result: ToolResult) -> bytes | None:
    """The only text as the JSON string it came in, where it holds a JSON object or array."""
    quoted = result.only_text_json
    if quoted is None or not _OPENS_JSON.match(quoted):
        return None
    try:
        _validate_json(_text(quoted))
    except (ValueError, RecursionError):
        return None
    return quoted


def _spliced_text(quoted: bytes, block: Mapping[str, msgspec.Raw], max_bytes: int, keep: Keep) -> Members:
    """The text in its envelope, without unquoting and quoting it again; a preview where it is too large."""
    if len(quoted) > max_bytes and len(payload := _text(quoted).encode()) > max_bytes:
        return _preview(payload, keep)
    beside = {name: value for name, value in block.items() if name not in {"type", "text"}}
    more = b"," + encode(beside)[1:-1] if beside else b""
    parts = (b'[{"type":"text","text":"{\\"success\\":true,\\"result\\":', memoryview(quoted)[1:-1], b'}"', more, b"}]")
    return {"content": msgspec.Raw(b"".join(parts))}


def _words(result: ToolResult) -> str | list[str] | None:
    """The text of a result that is no JSON, one string for each block."""
    if len(result.texts) > 1:
        return result.texts
    return result.texts[0] if result.texts else None


def _bounded_blocks(result: ToolResult, members: Members, max_bytes: int, keep: Keep) -> Members:
    """Blocks as they came; text that is too large in all becomes a preview, images and other blocks pass."""
    if len(members["content"]) <= max_bytes:
        return members
    text = result.text.encode("utf-8", "replace")
    if len(text) > max_bytes:
        return members | _followed_by(_other_blocks(members), _preview(text, keep))
    texts = [(raw, block) for raw, block in _read_blocks(members) if block.type == "text"]
    if sum(len(raw) - len(block.text) for raw, block in texts) <= max(max_bytes, _MOST_BESIDE_BYTES):
        return members
    whole = b"[%b]" % b",".join(bytes(raw) for raw, _ in texts)
    return members | _followed_by(_other_blocks(members), _preview(whole, keep))


def _other_blocks(members: Members) -> list[msgspec.Raw]:
    """The blocks that are not text, as they came."""
    return [raw for raw, block in _read_blocks(members) if block.type != "text"]


def _read_blocks(members: Members) -> list[tuple[msgspec.Raw, _Block]]:
    """Each block as it came, and what it is; nothing where anything else is among them."""
    try:
        return [(raw, _block(raw)) for raw in _blocks(members["content"])]
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
    message, details = error.message.encode("utf-8", "replace"), dict(error.details)
    data = encode(details.get("data"))
    if len(data) > max_bytes:
        details["data"] = {"truncated": True, "bytes": len(data), "preview": _beginning(data), "handle": keep(data)}
        details["readMore"] = READ_MORE
    if len(message) > max_bytes:
        details |= {"truncated": True, "bytes": len(message), "handle": keep(message), "readMore": READ_MORE}
        return replace(error, message=_beginning(message) + "…", details=details)
    return replace(error, details=details)


def _beginning(payload: bytes) -> str:
    return payload[: PREVIEW_CHARACTERS * 4].decode("utf-8", "ignore")[:PREVIEW_CHARACTERS]
