"""Servers that are killed, hang, crash or fall idle: what callers are told, and that everyone else works on."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import anyio
import pytest

from tests.journeys.stdio_gateway import (
    BOUND_SECONDS,
    MODES,
    Scripted,
    Workshop,
    ask,
    eventually,
    execute,
    execution,
    failure,
    run,
    text,
)
from tests.servers.launch import Launch

both_modes = pytest.mark.parametrize("mode", MODES)


def kill(pids: set[int]) -> None:
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


async def status_of(client, server: str) -> dict[str, str]:
    servers = (await ask(client, "list_mcp_servers"))["servers"]
    return next(listed for listed in servers if listed["name"] == server)


# -- killed


@both_modes
async def test_a_killed_real_server_is_started_again_by_the_next_call(
    workshop: Workshop, everything_server: Launch, time_server: Launch, mode: str
):
    workshop.configure({"everything": everything_server, "time": time_server})

    async with workshop.client(mode) as client:
        for server, tool, arguments in (
            ("everything", "echo", {"message": "x"}),
            ("time", "get_current_time", {"timezone": "UTC"}),
        ):
            await run(client, server, tool, **arguments)
            before = workshop.children(server)
            kill(before)
            await eventually(lambda: not workshop.children(server))  # noqa: B023 - awaited right here
            await run(client, server, tool, **arguments)
            assert workshop.children(server).isdisjoint(before)


async def test_a_call_that_was_under_way_in_a_killed_server_has_an_unknown_outcome(workshop: Workshop):
    servers = workshop.both_eras()
    workshop.configure(servers)

    async with workshop.client() as client:
        for era, scripted in servers.items():
            calling = asyncio.create_task(execute(client, era, "hang"))
            await eventually(lambda: scripted.received("tools/call"))  # noqa: B023 - awaited right here
            kill(workshop.children(era))
            error = failure(await calling)

            assert error["code"] == "SERVER_CONNECTION_ERROR"
            assert "SIGKILL" in error["message"]
            assert "Outcome unknown" in error["hint"]
            assert (await status_of(client, era))["status"] == "error"
            assert await run(client, era, "echo", text="back") == "back"
            assert (await status_of(client, era))["status"] == "connected"
            # The one with the unknown outcome was not sent again.
            assert len(scripted.received("tools/call")) == 2


async def test_a_read_only_call_that_was_under_way_in_a_killed_server_is_made_again(workshop: Workshop):
    servers = workshop.both_eras()
    workshop.configure(servers)

    async with workshop.client() as client:
        for era, scripted in servers.items():
            calling = asyncio.create_task(run(client, era, "look"))
            await eventually(lambda: scripted.received("tools/call"))  # noqa: B023 - awaited right here
            kill(workshop.children(era))
            assert await calling == "seen"


async def test_a_server_that_ends_while_it_is_called_takes_only_its_own_calls_with_it(workshop: Workshop):
    workshop.configure({"one": workshop.scripted("one"), "two": workshop.scripted("two")})

    async with workshop.client() as client:
        died, lived = await asyncio.gather(execute(client, "one", "die"), execute(client, "two", "echo", text="x"))

    assert "status 3" in failure(died)["message"]
    assert not lived.is_error


async def test_the_error_of_a_tool_is_passed_on_with_its_words(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")})

    async with workshop.client() as client:
        error = failure(await execute(client, "scripted", "fail"))

    assert (error["code"], error["message"]) == ("TOOL_EXECUTION_ERROR", "it did not work")


# -- crashing


async def test_a_server_that_can_not_start_says_why(workshop: Workshop):
    workshop.configure({"broken": workshop.scripted("broken", manner="crash")}, maxStartsPerMinute=2)

    async with workshop.client() as client:
        error = failure(await execute(client, "broken", "echo", text="x"))
        assert "no such database" in error["message"]
        listed = await status_of(client, "broken")

    assert listed["status"] == "error"
    assert "no such database" in listed["reason"]


async def test_a_call_that_never_reached_its_server_leaves_no_doubt(workshop: Workshop):
    scripted = workshop.scripted("scripted", "file")
    scripted.speak("legacy")
    workshop.configure({"scripted": scripted}, idleStop=0.6)

    async with workshop.client() as client:
        await run(client, "scripted", "echo", text="x")
        await eventually(lambda: not workshop.children("scripted"))
        before = len(scripted.starts)
        scripted.speak("no era at all")  # from now on it crashes while it starts
        error = failure(await execute(client, "scripted", "echo", text="x"))

    assert error["code"] == "SERVER_CONNECTION_ERROR"
    assert "KeyError" in error["message"]
    assert "hint" not in error
    assert len(scripted.starts) - before == 2  # it was tried once more


async def test_a_server_that_keeps_crashing_is_started_five_times_a_minute_at_most(workshop: Workshop):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted})

    async with workshop.client() as client:
        for _ in range(5):
            assert await run(client, "scripted", "echo", text="up") == "up"
            assert failure(await execute(client, "scripted", "die"))["code"] == "SERVER_CONNECTION_ERROR"
        error = failure(await execute(client, "scripted", "echo", text="up"))
        assert error["code"] == "SERVER_CONNECTION_ERROR"
        assert "started 5 times within a minute" in error["message"]
        assert "status 3" in error["message"]
        assert "try again in a minute" in error["hint"]

    assert len(scripted.starts) == 5


# -- hanging


@both_modes
async def test_a_server_that_never_answers_delays_nobody(workshop: Workshop, time_server: Launch, mode: str):
    silent = workshop.scripted("silent", manner="silent", startupTimeout=3)
    workshop.configure({"silent": silent, "quick": workshop.scripted("quick"), "time": time_server})

    async with workshop.client(mode) as client:
        hanging = asyncio.create_task(execute(client, "silent", "echo", text="x"))
        for number in range(20):
            assert await run(client, "quick", "echo", text=str(number)) == str(number)
        assert not hanging.done()
        await run(client, "time", "get_current_time", timezone="UTC")
        error = failure(await hanging)
        assert error["code"] == "TOOL_EXECUTION_TIMEOUT"
        assert "did not finish starting within 3 s" in error["message"]
        assert (await status_of(client, "silent"))["status"] == "error"
        assert not workshop.children("silent")


COULD_NOT_BE_READ = "Not searched, since their tools could not be read: silent. list_mcp_servers says why."


async def test_a_server_that_hung_is_tried_again_and_not_said_to_be_read(workshop: Workshop):
    silent = workshop.scripted("silent", manner="silent", startupTimeout=1)
    servers = {"silent": silent, "healthy": workshop.scripted("healthy")}
    workshop.configure(servers, maxRetries=0, brokenRetryMaxDelay=1)

    async def note() -> str:
        return (await ask(client, "search_tools", query="repeat a text")).get("note", "")

    async with workshop.client() as client:
        async with asyncio.timeout(BOUND_SECONDS):
            while "still being read" in await note():
                pass
        tried = len(silent.starts)
        await eventually(lambda: len(silent.starts) > tried + 1)
        assert await note() == COULD_NOT_BE_READ
    async with workshop.client() as client:
        assert await note() == COULD_NOT_BE_READ


async def test_a_call_that_hangs_ends_with_a_timeout_and_is_cancelled_on_the_server(workshop: Workshop):
    servers = workshop.both_eras()
    workshop.configure(servers, callTimeout=1)

    async with workshop.client() as client:
        for era, scripted in servers.items():
            hanging = asyncio.create_task(execute(client, era, "hang"))
            assert await run(client, era, "echo", text="beside it") == "beside it"
            error = failure(await hanging)
            assert error["code"] == "TOOL_EXECUTION_TIMEOUT"
            assert "1 s" in error["message"]
            assert "Outcome unknown" in error["hint"]
            await assert_cancelled(scripted)
            assert await run(client, era, "echo", text="after it") == "after it"
            assert len(scripted.starts) == 1


@both_modes
async def test_a_slow_call_goes_on_as_long_as_it_reports_progress(workshop: Workshop, mode: str):
    workshop.configure({"slow": workshop.scripted("slow")}, callTimeout=1.5)
    heard: list[float] = []

    async def hear(progress: float, _total: float | None, _message: str | None) -> None:
        heard.append(progress)

    async with workshop.client(mode) as client:
        asked = {"server": "slow", "tool": "crawl", "arguments": {"steps": 6, "seconds": 0.5}}
        result = await client.call_tool("execute_tool", asked, progress_callback=hear)

    assert text(result) == "there"
    assert heard == [0, 1, 2, 3, 4, 5]


async def test_the_timeout_of_one_tool_may_differ(workshop: Workshop):
    workshop.configure({"one": workshop.scripted("one", toolTimeouts={"han*": 0.5})})

    async with workshop.client() as client:
        error = failure(await execute(client, "one", "hang"))

    assert error["code"] == "TOOL_EXECUTION_TIMEOUT"
    assert "0.5 s" in error["message"]


async def assert_cancelled(scripted: Scripted) -> None:
    """The server was told to give up the call that hangs, and only that one."""
    (cancelled,) = await eventually(lambda: scripted.received("notifications/cancelled"))
    hung = next(call for call in scripted.received("tools/call") if call["params"]["name"] == "hang")
    assert cancelled["params"]["requestId"] == hung["id"]


async def test_a_server_that_hangs_on_the_log_level_does_not_hang_the_call(workshop: Workshop):
    workshop.configure({"mute": workshop.scripted("mute", manner="deaf-to-levels")})

    async with workshop.client() as client:
        with anyio.fail_after(8):
            answers = [await execute(client, "mute", "echo", text="x") for _ in range(2)]

    assert not any(answer.is_error for answer in answers)


async def test_the_timeout_of_one_server_may_differ(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted", timeout=0.3)})

    async with workshop.client() as client:
        error = failure(await execute(client, "scripted", "hang"))

    assert (error["code"], "0.3 s" in error["message"]) == ("TOOL_EXECUTION_TIMEOUT", True)


# -- cancelled by the client


@both_modes
async def test_a_call_the_client_cancels_is_cancelled_on_the_server(workshop: Workshop, mode: str):
    servers = workshop.both_eras()
    workshop.configure(servers)

    async with workshop.client(mode) as client:
        for era, scripted in servers.items():
            async with anyio.create_task_group() as group:
                group.start_soon(execute, client, era, "hang")
                await eventually(lambda: scripted.received("tools/call"))  # noqa: B023 - awaited right here
                group.cancel_scope.cancel()
            await assert_cancelled(scripted)
            assert await run(client, era, "echo", text="next") == "next"


async def test_a_cancelled_call_leaves_no_answer_behind(workshop: Workshop):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted})

    async with workshop.lines() as client:
        await client.initialize()
        await client.execute(1, "scripted", "echo", text="warm")
        client.send(execution(2, "scripted", "hang"))
        await eventually(lambda: len(scripted.received("tools/call")) == 2)
        client.send({"method": "notifications/cancelled", "params": {"requestId": 2}})
        await eventually(lambda: scripted.received("notifications/cancelled"))
        await client.execute(3, "scripted", "echo", text="next")
        assert await client.leave() == 0

    assert [message["id"] for message in client.messages] == ["hello", 1, 3]


# -- idle


async def test_an_idle_server_is_stopped_and_the_next_call_starts_it_again(workshop: Workshop):
    servers = workshop.both_eras()
    workshop.configure(servers, idleStop=0.6)

    async with workshop.client() as client:
        # More often than a crashing server may be started: stopping for rest is no crash.
        for number in range(1, 8):
            for era, scripted in servers.items():
                assert await run(client, era, "echo", text="up") == "up"
                assert len(scripted.starts) == number
            await eventually(lambda: not workshop.upstreams())
        assert (await status_of(client, "legacy"))["status"] == "disconnected"


async def test_a_server_at_work_is_not_idle(workshop: Workshop):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted}, idleStop=0.6)

    async with workshop.client() as client:
        working = asyncio.create_task(run(client, "scripted", "wait"))
        await eventually(lambda: scripted.received("tools/call"))
        deadline = time.monotonic() + 1.2
        await eventually(lambda: time.monotonic() > deadline)
        scripted.let_go()
        assert await working == "waited"

    assert len(scripted.starts) == 1
