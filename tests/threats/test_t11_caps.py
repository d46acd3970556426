"""T11: a server that says far too much is cut off at a limit, and the others go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeServer, spec, text, tool
from tests.gateways import read_counter
from tests.journeys.stdio_gateway import Scripted
from tests.threats.remote_server import remote_server
from tests.upstream.http_servers import Out, Seen, serve
from toolcrib import Settings, open_gateway
from toolcrib.model.server import Launch, RemoteLaunch, StdioLaunch

BYTES = 100_000
LINE_TOO_LONG = "SERVER_CONNECTION_ERROR: the server sent a line longer than 100000 bytes"
TOO_LARGE = "an answer is larger than 100000 bytes"
# Who reads on and on comes to an end, too.
LAST_PAGE = 149


def launched(server: Scripted) -> StdioLaunch:
    return StdioLaunch(server.launch.command, server.launch.args)


async def called(hostile: Launch, well: Scripted, tool: str, arguments: dict[str, Any]) -> str:
    """What becomes of a call of the hostile server; afterwards the other one is called as if nothing was."""
    servers = (spec("hostile", launch=hostile), spec("well", launch=launched(well)))
    limits = {"max_stdio_line_bytes": BYTES, "max_stdio_result_bytes": BYTES, "max_http_body_bytes": BYTES}
    async with open_gateway(settings=Settings(servers=servers, **limits), read_due=False) as gateway:
        assert (await gateway.execute_tool("well", "echo", {"text": "before"})).success
        outcome = await gateway.execute_tool("hostile", tool, arguments)
        assert (await gateway.execute_tool("well", "echo", {"text": "after"})).success
    return "" if outcome.error is None else f"{outcome.error.code}: {outcome.error.message}"


@pytest.fixture
def well(tmp_path: Path) -> Scripted:
    return Scripted(tmp_path / "well.jsonl")


async def test_t11_a_line_without_end_is_cut_off(tmp_path: Path, well: Scripted) -> None:
    hostile = launched(Scripted(tmp_path / "hostile.jsonl"))
    assert await called(hostile, well, "big", {"characters": 2 * BYTES}) == LINE_TOO_LONG


async def test_t11_a_body_without_end_is_cut_off(well: Scripted) -> None:
    async def say(seen: Seen, out: Out) -> None:
        await out.send(200, seen.answer({**text("x" * 2 * BYTES), "resultType": "complete"}))

    async with serve(remote_server(say)) as url:
        assert TOO_LARGE in await called(RemoteLaunch(url), well, "work", {})


async def test_t11_an_event_without_end_is_cut_off(well: Scripted) -> None:
    async def say(seen: Seen, out: Out) -> None:
        await out.start()
        for _ in range(20):
            await out.write(b"data: " + b" " * (BYTES // 10) + b"\n")
        await out.event(seen.answer({**text("done"), "resultType": "complete"}))
        await out.end()

    async with serve(remote_server(say)) as url:
        assert TOO_LARGE in await called(RemoteLaunch(url), well, "work", {})


async def test_t11_pages_without_end_are_read_to_the_hundredth() -> None:
    def page(params: dict[str, Any]) -> dict[str, Any]:
        number = int(params.get("cursor", "0"))
        last = {} if number == LAST_PAGE else {"nextCursor": str(number + 1)}
        return {"tools": [tool(f"t{number}")], **last}

    endless = FakeServer("endless", methods={"tools/list": page})
    async with read_counter(endless) as gateway:
        assert len(await gateway.list_tools("endless")) == 100
    assert endless.count("tools/list") == 100


async def test_t11_of_tools_without_end_a_thousand_are_taken() -> None:
    many = FakeServer("many", [tool(f"t{number}") for number in range(1_100)])
    async with read_counter(many) as gateway:
        assert len(await gateway.list_tools("many")) == 1_000


async def test_t11_a_definition_that_is_too_large_is_left_out() -> None:
    wordy = FakeServer("wordy", [tool("wordy", "x" * 70_000), tool("brief")])
    async with read_counter(wordy) as gateway:
        assert [one.name for one in await gateway.list_tools("wordy")] == ["brief"]


async def test_t11_of_definitions_without_end_only_so_many_bytes_are_taken() -> None:
    heavy = FakeServer("heavy", [tool(f"t{number}", "x" * 5_000) for number in range(30)])
    async with read_counter(heavy, max_tool_list_bytes=50_000) as gateway:
        assert len(await gateway.list_tools("heavy")) == 10
