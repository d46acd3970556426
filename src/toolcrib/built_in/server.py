"""The tools of the built-in server `toolcrib`: found and run through the five, like any other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from toolcrib.built_in.read_result import excerpt
from toolcrib.built_in.result_store import ResultStore
from toolcrib.clients.display import ClientDisplay
from toolcrib.clients.table import display_of
from toolcrib.errors import ToolNotFound
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.tool import split_id
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import admitted

BuiltInTool = Callable[[ToolCall], Awaitable[ToolResult]]


class BuiltIn:
    """Runs the built-in tools; `more` are those that need parts of their own, `display` is how a client shows results."""

    def __init__(
        self,
        view: CatalogView,
        results: ResultStore,
        more: Mapping[str, BuiltInTool] | None = None,
        *,
        display: Callable[[str], ClientDisplay] = display_of,
    ) -> None:
        self._view = view
        self._results = results
        self._display = display
        self._tools: dict[str, BuiltInTool] = {
            "read_result": self._read_result,
            "get_schema": self._get_schema,
            **(more or {}),
        }

    def add(self, more: Mapping[str, BuiltInTool]) -> None:
        """Run these too."""
        self._tools.update(more)

    async def call(self, call: ToolCall) -> ToolResult:
        tool = self._tools.get(call.tool)
        if tool is None:
            raise ToolNotFound(f"{BUILT_IN_SERVER!r} has no tool {call.tool!r}", available=sorted(self._tools))
        return await tool(call)

    async def _read_result(self, call: ToolCall) -> ToolResult:
        data = self._results.get(call.caller.key, str(call.arguments["handle"]))
        text, fitting = data.decode("utf-8", "replace"), self._display(call.caller.name).fitting
        # In a thread: parsing or searching megabytes takes a while, and others are waiting.
        return _text(await asyncio.to_thread(excerpt, text, call.arguments, fitting))

    async def _get_schema(self, call: ToolCall) -> ToolResult:
        server, tool = split_id(str(call.arguments["server"]), str(call.arguments["tool"]))
        found = admitted(self._view, server, tool, call.caller)
        return _text(msgspec.json.encode(found.tool.shown).decode())


def _text(text: str) -> ToolResult:
    plain = text.encode("utf-8", "replace").decode()
    return ToolResult.of({"content": [{"type": "text", "text": plain}]})
