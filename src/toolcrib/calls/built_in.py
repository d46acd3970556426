"""The tools of the built-in server `toolcrib`: found and run through the five, like any other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from toolcrib.calls.missing import admitted
from toolcrib.calls.reading import excerpt
from toolcrib.calls.result_shelf import ResultShelf
from toolcrib.errors import ToolNotFound
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.tool import Tool, split_id
from toolcrib.stock import Stock

_READ_RESULT = {
    "name": "read_result",
    "description": "Read more of a large result by its handle: a range of characters, one value by JSON pointer, "
    "or the lines that match a pattern.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "From the truncated answer"},
            "offset": {"type": "integer", "minimum": 0, "description": "First character (default 0)"},
            "length": {"type": "integer", "minimum": 1, "description": "Most characters (default 16000)"},
            "pointer": {"type": "string", "description": "JSON pointer, such as /items/0/name"},
            "grep": {"type": "string", "description": "Regular expression; only matching lines are given"},
        },
        "required": ["handle"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}

_GET_SCHEMA = {
    "name": "get_schema",
    "description": "Get the whole definition of a tool as its server gave it, with the full JSON Schemas.",
    "inputSchema": {
        "type": "object",
        "properties": {"server": {"type": "string"}, "tool": {"type": "string"}},
        "required": ["server", "tool"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}

BUILT_IN_TOOLS = tuple(Tool.from_mcp(BUILT_IN_SERVER, definition) for definition in (_READ_RESULT, _GET_SCHEMA))


class BuiltIn:
    """Runs the built-in tools."""

    def __init__(self, stock: Stock, shelf: ResultShelf) -> None:
        self._stock = stock
        self._shelf = shelf
        self._tools: Mapping[str, Callable[[ToolCall], Awaitable[ToolResult]]] = {
            "read_result": self._read_result,
            "get_schema": self._get_schema,
        }

    async def call(self, call: ToolCall) -> ToolResult:
        tool = self._tools.get(call.tool)
        if tool is None:
            raise ToolNotFound(f"{BUILT_IN_SERVER!r} has no tool {call.tool!r}", available=sorted(self._tools))
        return await tool(call)

    async def _read_result(self, call: ToolCall) -> ToolResult:
        data = self._shelf.get(call.caller.key, str(call.arguments["handle"]))
        # In a thread: parsing or searching megabytes takes a while, and others are waiting.
        return _text(await asyncio.to_thread(excerpt, data.decode("utf-8", "replace"), call.arguments))

    async def _get_schema(self, call: ToolCall) -> ToolResult:
        found = admitted(self._stock, *split_id(str(call.arguments["server"]), str(call.arguments["tool"])))
        return _text(msgspec.json.encode(found.tool.definition).decode())


def _text(text: str) -> ToolResult:
    plain = text.encode("utf-8", "replace").decode()
    return ToolResult.of({"content": [{"type": "text", "text": plain}]})
