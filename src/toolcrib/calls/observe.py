"""Results that pass are shown to whoever learns from them; nothing is changed and nothing waits."""

from __future__ import annotations

from typing import Protocol

from toolcrib.calls.chain import CallTool
from toolcrib.calls.introspect import INTROSPECTION
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.model.server import BUILT_IN_SERVER


class Samples(Protocol):
    """Whoever wants to see results."""

    def offer(self, target: Target, result: ToolResult) -> None:
        """Take the result or leave it; returns at once."""


class Observe:
    """Offers the result of every call that a caller made; our own looking around teaches nothing."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        result = await call_next(call)
        if (
            result.is_complete
            and call.target is not None
            and call.target.tool.kind == "tool"
            and call.server != BUILT_IN_SERVER
            and call.caller is not INTROSPECTION
        ):
            self._samples.offer(call.target, result)
        return result
