from __future__ import annotations

from tests.calls.steps import Upstream, a_call
from toolcrib.calls.chain import CallTool, build_chain
from toolcrib.model.call import ToolCall, ToolResult


class Note:
    def __init__(self, name: str, log: list[str]) -> None:
        self._name = name
        self._log = log

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        self._log.append(f"{self._name} in")
        try:
            return await call_next(call)
        finally:
            self._log.append(f"{self._name} out")


async def test_steps_are_met_in_the_order_they_are_listed() -> None:
    log: list[str] = []
    upstream = Upstream()

    result = await build_chain([Note("first", log), Note("second", log)], upstream)(a_call())

    assert result.text == "done"
    assert log == ["first in", "second in", "second out", "first out"]


async def test_without_steps_the_call_goes_straight_through() -> None:
    upstream = Upstream()

    await build_chain([], upstream)(a_call())

    assert len(upstream.calls) == 1
