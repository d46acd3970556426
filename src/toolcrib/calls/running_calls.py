"""The calls that run now, for people who watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolcrib.calls.chain import CallTool
from toolcrib.model.asking import Conversation
from toolcrib.model.call import ToolCall, ToolResult


@dataclass(frozen=True, slots=True, eq=False)
class RunningCall:
    """A call that has begun; nothing of its arguments is kept."""

    server: str
    tool: str
    client: str
    face: str
    started_at: float
    conversation: Conversation | None = None

    @property
    def waits_for_an_answer(self) -> bool:
        """Whether its client is being asked something."""
        return self.conversation is not None and self.conversation.open_questions > 0


class RunningCalls:
    """Notes each call while it runs."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._calls: dict[RunningCall, None] = {}

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        running = RunningCall(
            call.server, call.tool, call.caller.name, call.caller.face, self._now(), call.conversation
        )
        self._calls[running] = None
        try:
            return await call_next(call)
        finally:
            del self._calls[running]

    def __iter__(self) -> Iterator[RunningCall]:
        """The longest running first."""
        return iter(list(self._calls))
