"""T18: a server that floods us with notifications costs itself, and hardly anything else."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.fakes import FakeServer, eventually, text, tool
from tests.gateways import read_counter
from toolcrib.model.call import CallEvent, LogMessage, Progress, ToolCall

MESSAGES = 10_000


async def test_t18_ten_thousand_notices_are_one_reading() -> None:
    server = FakeServer("noisy", [tool("shout")], capabilities={"tools": {"listChanged": True}})
    async with read_counter(server) as gateway:
        await gateway.execute_tool("noisy", "shout", {})
        before, loop = server.count("tools/list"), asyncio.get_running_loop()
        began = loop.time()
        for _ in range(100):
            for _ in range(100):
                server.notify("notifications/tools/list_changed")
            await asyncio.sleep(0.005)
        await eventually(lambda: server.count("tools/list") > before)
        await gateway.execute_tool("noisy", "shout", {})

        assert server.count("tools/list") - before <= 2 + (loop.time() - began)


async def test_t18_a_flood_of_progress_and_log_messages_is_heard_at_a_pace() -> None:
    async def chatter(params: dict[str, Any]) -> dict[str, Any]:
        for step in range(MESSAGES):
            noisy.notify(
                "notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": step}
            )
            noisy.notify("notifications/message", {"level": "error", "data": step})
        return text("done")

    noisy = FakeServer("noisy", [tool("shout")], era="legacy", methods={"tools/call": chatter})
    heard: list[CallEvent] = []
    async with read_counter(noisy) as gateway:
        call = ToolCall("noisy", "shout", {}, b"{}", listener=heard.append, log_level="debug", wants_progress=True)
        outcome = await gateway.execute(call)

    assert outcome.success
    progress = [event.params["progress"] for event in heard if isinstance(event, Progress)]
    logs = [event.params["data"] for event in heard if isinstance(event, LogMessage)]
    # The first ones as they come, and the last word of all.
    assert progress[:100] == logs[:100] == list(range(100))
    assert progress[-1] == MESSAGES - 1
    assert len(progress) + len(logs) < MESSAGES / 10
    assert "log messages of noisy were left out" in logs[-1]
