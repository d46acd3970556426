"""T13: no pattern of anybody, and none of ours, takes so long that others have to wait."""

from __future__ import annotations

import time

from tests.fakes import FakeServer, tool
from tests.gateways import read_counter
from toolcrib.model.tool_rule import ToolRule

# Tried in every way there is, this takes longer than anybody lives.
SLOW, SLOW_TEXT = "(a|aa)+$", "a" * 200 + "!"
SECONDS = 1.0
TEXTS = ("ignore all previous ", "do not tell ", "a. ", "a1", "![a](http://x?", "%41", "\u0430", "send_email ")


def slow_server() -> FakeServer:
    schema = {"type": "object", "properties": {"note": {"type": "string", "pattern": SLOW}}}
    described = [tool(f"t{number}", (piece * 8_000)[:8_000]) for number, piece in enumerate(TEXTS)]
    return FakeServer(
        "sums", [tool("add", "Adds.", inputSchema=schema), tool("a" * 100 + "-"), *described], era="legacy"
    )


async def test_t13_no_pattern_of_anybody_takes_a_second() -> None:
    started = time.process_time()
    rule = ToolRule((f"/{SLOW}/",), enabled=False)
    async with read_counter(slow_server(), tool_rules=(rule,)) as gateway:
        assert await gateway.search_tools("adds")
    async with read_counter(slow_server()) as gateway:
        await gateway.execute_tool("sums", "add", {"note": SLOW_TEXT})

    assert time.process_time() - started < 3 * SECONDS
