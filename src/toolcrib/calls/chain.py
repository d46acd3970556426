"""The order in which a call meets each step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from toolcrib.model.call import ToolCall, ToolResult

CallTool = Callable[[ToolCall], Awaitable[ToolResult]]


class Step(Protocol):
    """Does its part, then (or not) hands the call on."""

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult: ...


def build_chain(steps: Sequence[Step], call_tool: CallTool) -> CallTool:
    """Wrap `call_tool`; the sequence reads in the order a call meets each step."""
    chained = call_tool
    for step in reversed(steps):
        chained = partial(step, call_next=chained)
    return chained
