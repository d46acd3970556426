"""Only tools that exist and that the rules enable are run."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from toolcrib.calls.chain import CallTool
from toolcrib.calls.missing import admitted
from toolcrib.errors import ToolcribError
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.stock import Stock


class Readings(Protocol):
    """Whoever sees to it that a server's tools are known."""

    async def need(self, server: str) -> None:
        """Return once the server was read, or could not be."""

    def unread_failure(self, server: str) -> ToolcribError | None:
        """Why the tools of a server are not known."""


class Admit:
    """Finds the tool a call names, reading its server first where nobody has, and lets it pass if it is enabled."""

    def __init__(self, stock: Stock, readings: Readings) -> None:
        self._stock = stock
        self._readings = readings

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        # A tool declared in the configuration is called without waiting for the first reading; one that only stands in
        # for what could not be read is not.
        found = self._stock.find(call.server, call.tool)
        if self._stock.was_read(call.server) or found is None or found.is_fallback:
            await self._readings.need(call.server)
        failure = self._readings.unread_failure(call.server)
        if failure is not None and self._stock.find(call.server, call.tool) is None:
            raise failure
        stocked = admitted(self._stock, call.server, call.tool)
        return await call_next(replace(call, target=Target(stocked.tool, stocked.upstream_name)))
