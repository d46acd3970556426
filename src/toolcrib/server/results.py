"""How a tool's result is handed to an agent: spliced, passed on, or shelved when it is too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from toolcrib.model.call import ToolResult
from toolcrib.server.render import encode, text_members, text_result

Shape = Literal["auto", "envelope", "passthrough"]
Keep = Callable[[bytes], str]
Members = dict[str, msgspec.Raw]

PREVIEW_CHARACTERS = 2_000
_HOP_MEMBERS = frozenset({"resultType", "ttlMs", "cacheScope"})
_validate_json = msgspec.json.Decoder(msgspec.Raw).decode


def shape_result(result: ToolResult, shape: Shape, max_bytes: int, keep: Keep) -> Members:
    """The members of the answer to `execute_tool`; nothing of the payload is decoded and encoded again."""
    members = {name: value for name, value in result.members.items() if name not in _HOP_MEMBERS}
    if shape == "passthrough":
        return members
    payload = _json_payload(result)
    if payload is None and shape == "envelope":
        payload = encode(result.value)
    if payload is None:
        return _bounded_blocks(result, members, max_bytes, keep)
    if len(payload) > max_bytes:
        return _meta_of(members) | _preview(payload, keep)
    kept = {name: value for name, value in members.items() if name != "content"}
    return text_members(b'{"success":true,"result":%b}' % payload) | kept


def _json_payload(result: ToolResult) -> bytes | None:
    """The JSON text of the payload, where the server gave one."""
    if result.structured_json is not None:
        return result.structured_json
    text = (result.only_text or "").strip()
    if not text.startswith(("{", "[")):
        return None
    payload = text.encode("utf-8", "replace")
    try:
        _validate_json(payload)
    except (msgspec.DecodeError, RecursionError):
        return None
    return payload


def _bounded_blocks(result: ToolResult, members: Members, max_bytes: int, keep: Keep) -> Members:
    """Blocks as they came; text that is too large in all becomes a preview, images and other blocks pass."""
    if len(members.get("content", b"")) <= max_bytes:
        return members
    text = result.text.encode("utf-8", "replace")
    if len(text) <= max_bytes:
        return members
    others = [block for block in result.content if block.get("type") != "text"]
    preview = msgspec.json.decode(_preview(text, keep)["content"])
    return members | {"content": msgspec.Raw(encode(preview + others))}


def _preview(payload: bytes, keep: Keep) -> Members:
    handle = keep(payload)
    text = payload[: PREVIEW_CHARACTERS * 4].decode("utf-8", "ignore")[:PREVIEW_CHARACTERS]
    return text_result(
        {
            "success": True,
            "truncated": True,
            "bytes": len(payload),
            "preview": text,
            "handle": handle,
            "hint": "For more: execute_tool, server toolcrib, tool read_result, "
            "arguments {handle, offset?, length?, pointer?, grep?}.",
        }
    )


def _meta_of(members: Members) -> Members:
    return {"_meta": members["_meta"]} if "_meta" in members else {}
