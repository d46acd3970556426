"""T11: a server that never comes to an end, or says far too much, costs nobody else anything worth mentioning."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.gateways import read_counter

LONGEST_CALL_SECONDS = 2.0


async def test_t11_a_call_that_reports_progress_for_ever_ends_all_the_same() -> None:
    async def work(params: dict[str, Any]) -> dict[str, Any]:
        for step in range(1_000_000):
            endless.notify(
                "notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": step}
            )
            await asyncio.sleep(0.01)
        return text("never")

    endless = FakeServer("endless", [tool("work")], methods={"tools/call": work})
    well = FakeServer("well", [tool("echo")])
    async with (
        read_counter(endless, well, call_timeout_seconds=0.2, max_call_seconds=0.6) as gateway,
        asyncio.timeout(5),
    ):
        loop = asyncio.get_running_loop()
        call = asyncio.create_task(gateway.execute_tool("endless", "work", {}, listener=lambda _: None))
        longest = 0.0
        while not call.done():
            began = loop.time()
            assert (await gateway.execute_tool("well", "echo", {})).success
            longest = max(longest, loop.time() - began)

        outcome = call.result()
        assert outcome.error is not None
        assert (outcome.error.code, "0.6 s" in outcome.error.message) == ("TOOL_EXECUTION_TIMEOUT", True)
        assert longest < LONGEST_CALL_SECONDS
        # The server is told in the background, so that its reading nothing holds up nobody.
        await eventually(lambda: endless.cancelled)


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"x":NaN}}}',
        b'{"id": %d, "jsonrpc": "2.0", "result": {"content": ]}',
        b'{"jsonrpc":"2.0","result":{"x":NaN,"id":7},"id":%d}',
        b'{"result":{"x":NaN},"jsonrpc":"2.0","id":%d}',
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}}",
        b'{"jsonrpc":"1.0","id":%d,"result":{"content":[]}}',
    ],
)
async def test_t11_a_malformed_answer_ends_its_call_at_once(answer: bytes) -> None:
    async def work(_: dict[str, Any]) -> dict[str, Any]:
        (link,) = broken.open_links
        both.append(max(link._answering))
        began.set()
        if len(both) == 1:
            await second.wait()
            link.feed(answer % both[0])
        second.set()
        return await asyncio.get_running_loop().create_future()

    both, began, second = list[int](), asyncio.Event(), asyncio.Event()
    broken = FakeServer("broken", [tool("work")], methods={"tools/call": work})
    async with read_counter(broken, call_timeout_seconds=2) as gateway, asyncio.timeout(5):
        first = asyncio.create_task(gateway.execute_tool("broken", "work", {}))
        await began.wait()
        other = asyncio.create_task(gateway.execute_tool("broken", "work", {}))
        outcome = await first

        assert outcome.error is not None
        assert outcome.error.code == "TOOL_EXECUTION_ERROR"
        assert outcome.error.message.startswith("the server sent a malformed answer: ")
        assert not other.done()


async def test_t11_a_malformed_answer_to_nobody_ends_the_only_call_and_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work(_: dict[str, Any]) -> dict[str, Any]:
        (link,) = broken.open_links
        for line in (
            b'{"level":"info","result":NaN}',
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":NaN}',
            b'{"jsonrpc":"2.0","id":"x","result":NaN}',
            b'{"jsonrpc":"2.0","id":%d,"result":NaN}' % (max(link._answering) + 1),
        ):
            link.feed(line)
        await asyncio.sleep(0)
        assert link._mux._waiting  # none of these was the answer
        for _number in range(3):
            link.feed(b'{"jsonrpc":"2.0","result":{"id":%d,"x":NaN' % max(link._answering))
        return await asyncio.get_running_loop().create_future()

    broken = FakeServer("broken", [tool("work")], methods={"tools/call": work})
    async with read_counter(broken) as gateway, asyncio.timeout(5):
        outcome = await gateway.execute_tool("broken", "work", {})

    assert outcome.error is not None
    assert outcome.error.message.startswith("the server sent a malformed answer: ")
    complaints = [record.message for record in caplog.records if "can't be read" in record.message]
    assert complaints == [
        "broken sent an answer that can't be read (not JSON: NaN is not JSON), so nobody can tell which request it is for"
    ]
