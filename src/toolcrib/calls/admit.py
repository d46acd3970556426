"""Only tools that exist and that the rules enable are run."""

from __future__ import annotations

from dataclasses import replace

from toolcrib.calls.chain import CallTool
from toolcrib.calls.missing import missing
from toolcrib.errors import ToolDisabled
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.stock import Stock


class Admit:
    """Finds the tool a call names and lets it pass if it is enabled."""

    def __init__(self, stock: Stock) -> None:
        self._stock = stock

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        stocked = self._stock.find(call.server, call.tool)
        if stocked is None:
            raise missing(self._stock, call.server, call.tool)
        if not stocked.enabled:
            raise ToolDisabled(
                f"{stocked.tool.id} is disabled: {stocked.reason}",
                hint="Only the person who runs this gateway can enable it; look for another tool with search_tools.",
            )
        return await call_next(replace(call, target=Target(stocked.tool, stocked.upstream_name)))
