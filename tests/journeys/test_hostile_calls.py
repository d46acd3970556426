"""A server whose tool never comes to an end, or says far too much meanwhile: the others answer as if it were not there."""

from __future__ import annotations

import json
import time

import pytest

from bench.hostile import second_server
from bench.process import peak_megabytes, resident_megabytes
from tests.journeys.stdio_gateway import Workshop

# What is promised; on an idle machine it is a tenth of a second.
LONGEST_CALL_SECONDS = 2.0
MOST_MEGABYTES = 100.0
MOST_LOG_BYTES = 4_000
MOST_ANSWER_BYTES = 300_000
WATCHED_SECONDS = 1.5


@pytest.mark.parametrize(
    ("kind", "transport"),
    [
        ("progress", "stdio"),
        ("blanks", "stdio"),
        ("changed", "stdio"),
        ("deep", "stdio"),
        ("structure", "stdio"),
        ("keys", "stdio"),
        ("blocks", "stdio"),
        ("block", "stdio"),
        ("meta", "stdio"),
        ("members", "stdio"),
        ("progress", "http"),
        ("questions", "http"),
        ("endless", "http"),
        ("structure", "http"),
    ],
)
async def test_a_hostile_call_holds_up_no_call_to_another_server(workshop: Workshop, kind: str, transport: str) -> None:
    with second_server(kind, transport) as entry:
        workshop.configure({"healthy": workshop.scripted("healthy"), "hostile": entry})
        async with workshop.lines() as client:
            await client.initialize()
            await client.execute("first", "healthy", "echo", text="here")
            await client.call("listed", "list_tools", server="hostile")
            before = resident_megabytes(client.process.pid)
            asked = {"server": "hostile", "tool": "tool_0", "arguments": {}}
            params = {"name": "execute_tool", "arguments": asked, "_meta": {"progressToken": "hostile"}}
            client.send({"id": "hostile", "method": "tools/call", "params": params})
            longest, number, began = 0.0, 0, time.monotonic()
            while time.monotonic() - began < WATCHED_SECONDS:
                asked_at, number = time.monotonic(), number + 1
                answered = await client.execute(number, "healthy", "echo", text="here")
                longest = max(longest, time.monotonic() - asked_at)
                assert answered["content"][0]["text"] == "here"
            grown = peak_megabytes(client.process.pid) - before
            heard = sum(message.get("method") == "notifications/progress" for message in client.messages)
            said = [message for message in client.messages if message.get("id") == "hostile"]
            await client.leave()

    assert longest < LONGEST_CALL_SECONDS
    assert grown < MOST_MEGABYTES
    assert heard < 1_000
    assert len(json.dumps(said)) < MOST_ANSWER_BYTES
    assert len(workshop.complaints) < MOST_LOG_BYTES
