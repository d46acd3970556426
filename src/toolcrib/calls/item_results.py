"""What a server gives for a prompt or a resource, as the result of a tool: models get nothing else to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolcrib.calls.chain import CallTool
from toolcrib.model.call import ToolCall, ToolResult

_MEDIA = ("image", "audio")


class ItemResults:
    """Puts prompts and contents into content blocks, unless whoever calls wants them as they come."""

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        result = await call_next(call)
        kind = "tool" if call.target is None else call.target.tool.kind
        if kind == "tool" or call.is_verbatim or not result.is_complete:
            return result
        blocks = _prompt_blocks(result) if kind == "prompt" else _content_blocks(result)
        meta = result.member("_meta")
        return ToolResult.of({"content": blocks, **({"_meta": meta} if isinstance(meta, dict) else {})})


def _content_blocks(result: ToolResult) -> list[Mapping[str, Any]]:
    return [_content_block(one) for one in _objects(result.member("contents"))]


def _content_block(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Text as text, pictures and sound as what they are, and anything else inside of a block."""
    if isinstance(content.get("text"), str):
        return {"type": "text", "text": content["text"]}
    mime_type = str(content.get("mimeType", ""))
    medium = mime_type.partition("/")[0]
    if medium in _MEDIA and isinstance(content.get("blob"), str):
        return {"type": medium, "data": content["blob"], "mimeType": mime_type}
    return {"type": "resource", "resource": content}


def _prompt_blocks(result: ToolResult) -> list[Mapping[str, Any]]:
    """One text with all messages; what is no text in them follows, and its place tells the number of its block."""
    others: list[Mapping[str, Any]] = []
    messages = [_message(one, others) for one in _objects(result.member("messages"))]
    described = result.member("description")
    prompt = {"description": described, "messages": messages} if described else {"messages": messages}
    return [{"type": "text", "text": msgspec.json.encode(prompt).decode()}, *others]


def _message(message: Mapping[str, Any], others: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    content = message.get("content")
    if not isinstance(content, Mapping) or content.get("type") == "text":
        return message
    others.append(content)
    return {**message, "content": {"type": content.get("type"), "block": len(others)}}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
