"""Large results, and what is heard while a call runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.journeys.stdio_gateway import ERAS, MODES, Workshop, body, eventually, execute, failure, run, text
from tests.servers.launch import Launch

both_modes = pytest.mark.parametrize("mode", MODES)
MEGABYTE = 1_000_000


async def read_whole(client: Client, handle: str, characters: int, page: int) -> str:
    """A large result put together from pages; each page but the last says where the next begins."""
    pages: list[str] = []
    offset = 0
    while offset < characters:
        part = await run(client, "toolcrib", "read_result", handle=handle, offset=offset, length=page)
        end = min(offset + page, characters)
        if end < characters:
            part = part.removesuffix(f"\n[characters {offset} to {end} of {characters}; continue with offset {end}]")
        pages.append(part)
        assert len(part) == end - offset
        offset = end
    return "".join(pages)


@both_modes
async def test_a_file_of_one_megabyte_comes_as_a_preview_and_can_be_read_whole(
    workshop: Workshop, filesystem_server: Callable[[Path], Launch], tmp_path: Path, mode: str
):
    folder = tmp_path / "files"
    folder.mkdir()
    content = "".join(f'{number}: {{"naïve": ["長い"]}}\n' for number in range(40_000))[:MEGABYTE]
    (folder / "large.txt").write_text(content, encoding="utf-8")
    workshop.configure({"filesystem": filesystem_server(folder)})

    async with workshop.client(mode) as client:
        result = await execute(client, "filesystem", "read_text_file", path=str(folder / "large.txt"))
        preview = body(result)
        assert preview["truncated"] is True
        assert len(text(result)) < 10_000
        assert preview["bytes"] == len(content.encode())
        assert await read_whole(client, preview["handle"], len(content), 60_000) == content


@both_modes
async def test_a_megabyte_of_text_comes_back_exactly_in_pages(workshop: Workshop, mode: str):
    workshop.configure({"scripted": workshop.scripted("scripted")})

    async with workshop.client(mode) as client:
        preview = body(await execute(client, "scripted", "big", characters=MEGABYTE))
        whole = await read_whole(client, preview["handle"], MEGABYTE, 50_000)
        found = await run(client, "toolcrib", "read_result", handle=preview["handle"], grep="0001234 of")
        nothing = await run(client, "toolcrib", "read_result", handle=preview["handle"], grep="no such words")

    lines = whole.splitlines()
    assert len(whole) == MEGABYTE
    assert whole.startswith(preview["preview"])
    assert lines[:-1] == [f"line {number:07d} of a long text, naïve and 長い" for number in range(len(lines) - 1)]
    assert found == f"1235: {lines[1234]}"
    assert nothing == "[no line matches]"


@both_modes
async def test_one_value_of_a_large_structured_result_is_read_by_pointer(workshop: Workshop, mode: str):
    workshop.configure({"scripted": workshop.scripted("scripted", "modern")})

    async with workshop.client(mode) as client:
        result = await execute(client, "scripted", "table", rows=5000)
        handle = body(result)["handle"]
        assert result.structured_content is None
        row = await execute(client, "toolcrib", "read_result", handle=handle, pointer="/rows/4321")
        name = await run(client, "toolcrib", "read_result", handle=handle, pointer="/rows/4321/name")
        missing = failure(await execute(client, "toolcrib", "read_result", handle=handle, pointer="/rows/x"))

    assert body(row)["result"] == {"row": 4321, "name": "name of 4321"}
    assert name == "name of 4321"
    assert (missing["code"], "pointer" in missing["message"]) == ("TOOL_VALIDATION_ERROR", True)


async def test_a_large_result_is_for_the_caller_who_asked_and_outlives_its_connection(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")})
    async with workshop.client(name="owner") as client:
        handle = body(await execute(client, "scripted", "big", characters=100_000))["handle"]

    async with workshop.client(name="stranger") as client:
        refused = failure(await execute(client, "toolcrib", "read_result", handle=handle))
    async with workshop.client(name="owner") as client:
        again = await run(client, "toolcrib", "read_result", handle=handle, length=20)

    assert refused["code"] == "RESULT_EXPIRED"
    assert again.startswith("line 0000000 of a lo")
    assert {path.stat().st_mode & 0o777 for path in (workshop.home / "results").iterdir()} == {0o600}


async def test_a_result_below_the_limit_is_whole(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")}, maxResultBytes=2_000_000)

    async with workshop.client() as client:
        assert len(await run(client, "scripted", "big", characters=MEGABYTE)) == MEGABYTE


# -- progress and log messages


class Heard:
    """Progress and log messages in the order in which the client was told."""

    def __init__(self) -> None:
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.logs: list[Any] = []

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))

    async def on_log(self, params: Any) -> None:
        self.logs.append(params.data)


@both_modes
async def test_progress_and_log_messages_arrive_in_order(workshop: Workshop, mode: str):
    workshop.configure(workshop.both_eras())
    heard = Heard()

    async with workshop.client(mode, logging_callback=heard.on_log, log_level="info") as client:
        for era in ERAS:
            asked = {"server": era, "tool": "steps", "arguments": {"count": 20}}
            answer = await client.call_tool("execute_tool", asked, progress_callback=heard.on_progress)
            assert text(answer) == "done"

    assert heard.progress == [(number, 20, f"at {number}") for number in range(1, 21)] * 2
    assert heard.logs == [f"step {number}" for number in range(1, 21)] * 2


@both_modes
async def test_the_progress_of_a_real_server_arrives_in_order(workshop: Workshop, everything_server: Launch, mode: str):
    workshop.configure({"everything": everything_server})
    heard = Heard()
    arguments = {"duration": 0.2, "steps": 4}
    asked = {"server": "everything", "tool": "trigger-long-running-operation", "arguments": arguments}

    async with workshop.client(mode) as client:
        await client.call_tool("execute_tool", asked, progress_callback=heard.on_progress)

    assert [(progress, total) for progress, total, _ in heard.progress] == [(1, 4), (2, 4), (3, 4), (4, 4)]


@both_modes
async def test_the_log_of_a_call_is_heard_while_another_runs_on_that_server(workshop: Workshop, mode: str):
    servers = {"scripted": workshop.scripted("scripted")}
    workshop.configure(servers)
    heard = Heard()

    async with workshop.client(mode, logging_callback=heard.on_log, log_level="info") as client:
        waiting = asyncio.create_task(run(client, "scripted", "hang"))
        await eventually(lambda: servers["scripted"].received("tools/call"))
        assert await run(client, "scripted", "steps", count=3) == "done"
        waiting.cancel()

    assert heard.logs == ["step 1", "step 2", "step 3"]


@pytest.mark.parametrize("era", ERAS)
async def test_progress_is_asked_for_only_where_the_client_asked_for_it(workshop: Workshop, era: str):
    scripted = workshop.scripted("scripted", era)
    workshop.configure({"scripted": scripted})

    async with workshop.client() as client:
        await run(client, "scripted", "echo", text="a")
        asked = {"server": "scripted", "tool": "echo", "arguments": {"text": "b"}}
        await client.call_tool("execute_tool", asked, progress_callback=Heard().on_progress)

    without, with_token = [call["params"].get("_meta", {}) for call in scripted.received("tools/call")]
    assert "progressToken" not in without
    assert "progressToken" in with_token


@both_modes
async def test_what_is_no_result_is_a_failure_that_says_what_the_server_wants(workshop: Workshop, mode: str):
    workshop.configure({"scripted": workshop.scripted("scripted", "modern")})

    async with workshop.client(mode) as client:
        asked = failure(await execute(client, "scripted", "ask"))
        task = failure(await execute(client, "scripted", "task"))

    assert (asked["code"], asked["resultType"]) == ("CLIENT_CANNOT_ANSWER", "input_required")
    assert 'asks the user "Which account?"' in asked["message"]
    assert asked["inputRequests"]["account"]["method"] == "elicitation/create"
    assert (task["code"], task["rpcCode"]) == ("TOOL_EXECUTION_ERROR", -32601)
    assert "began a task, and can't say what became of it" in task["message"]
    assert "Outcome unknown" in task["hint"]


@both_modes
async def test_code_and_data_of_a_servers_error_reach_the_agent(workshop: Workshop, mode: str):
    workshop.configure(workshop.both_eras())

    async with workshop.client(mode) as client:
        for era in ERAS:
            error = failure(await execute(client, era, "sign_in"))
            assert (error["code"], error["rpcCode"]) == ("TOOL_EXECUTION_ERROR", -32042)
            assert error["data"]["elicitations"][0]["url"] == "https://example.com/sign-in"


@both_modes
async def test_words_and_structure_of_a_result_both_arrive(workshop: Workshop, mode: str):
    workshop.configure(workshop.both_eras())

    async with workshop.client(mode) as client:
        for era in ERAS:
            result = await execute(client, era, "weather")
            assert text(result) == "It is 21 degrees in Oslo."
            assert result.structured_content == {"degrees": 21}


async def test_a_client_of_the_stateless_era_hears_no_log_it_did_not_ask_for(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted", "modern")})
    heard = Heard()

    async with workshop.client("2026-07-28", logging_callback=heard.on_log) as client:
        assert await run(client, "scripted", "steps", count=3) == "done"

    assert heard.logs == []


async def test_a_client_of_the_handshake_era_hears_the_level_it_set(workshop: Workshop):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted})

    async with workshop.lines() as client:
        await client.initialize()
        assert "result" in await client.ask(1, "logging/setLevel", level="warning")
        await client.execute(2, "scripted", "steps", count=3)
        assert (await client.ask(3, "logging/setLevel", level="loud"))["error"]["code"] == -32602
        await client.execute(4, "scripted", "steps", count=3)
        assert "result" in await client.ask(5, "logging/setLevel", level="debug")
        await client.execute(6, "scripted", "steps", count=1)
        assert await client.leave() == 0

    logs = [m["params"]["data"] for m in client.messages if m.get("method") == "notifications/message"]
    assert logs == ["step 1", "too quiet to be heard"]
    assert [level["params"]["level"] for level in scripted.received("logging/setLevel")] == ["warning", "debug"]
