"""A bound on how many calls run at once, all servers together."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.calls.chain import CallTool
from toolcrib.errors import Overloaded
from toolcrib.model.call import ToolCall, ToolResult


class LimitConcurrency:
    """Rejects calls over the limit at once, so that waiting calls can't fill the memory."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._running = 0

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        if self._running >= self._most():
            raise Overloaded(
                f"{self._running} calls are already running", hint="Wait for some to finish, then try again."
            )
        self._running += 1
        try:
            return await call_next(call)
        finally:
            self._running -= 1
