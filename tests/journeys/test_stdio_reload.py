"""Editing the configuration while the gateway runs."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import time

from mcp import Client

from tests.journeys.stdio_gateway import (
    BOUND_SECONDS,
    LineClient,
    Workshop,
    ask,
    eventually,
    execute,
    execution,
    failure,
    run,
)
from toolcrib.wire.jsonrpc import PARSE_ERROR

QUICK = {"reloadInterval": 0.1}
NEVER = {"reloadInterval": 3600}


async def servers_of(client: Client) -> set[str]:
    return {server["name"] for server in (await ask(client, "list_mcp_servers"))["servers"]}


async def until_servers(client: Client, names: set[str]) -> None:
    deadline = time.monotonic() + 10
    while await servers_of(client) != names:
        assert time.monotonic() < deadline


async def test_an_edit_brings_a_server_and_leaves_the_others_running(workshop: Workshop):
    one, two = workshop.scripted("one"), workshop.scripted("two", "modern")
    workshop.configure({"one": one}, **QUICK)

    async with workshop.client() as client:
        await run(client, "one", "echo", text="x")
        before = workshop.children("one")
        workshop.configure({"one": one, "two": two}, **QUICK)
        await until_servers(client, {"one", "two"})
        assert await run(client, "two", "echo", text="hello") == "hello"
        assert workshop.children("one") == before
        assert await run(client, "one", "echo", text="still") == "still"

    assert len(one.starts) == 1


async def test_only_the_server_whose_entry_changed_is_started_again(workshop: Workshop):
    same, old, new = workshop.scripted("same"), workshop.scripted("old"), workshop.scripted("new")
    workshop.configure({"same": same, "edited": old}, **QUICK)

    async with workshop.client() as client:
        await run(client, "same", "echo", text="x")
        await run(client, "edited", "echo", text="x")
        hanging = asyncio.create_task(run(client, "same", "wait"))
        await eventually(lambda: len(same.received("tools/call")) == 2)
        workshop.configure({"same": same, "edited": new}, **QUICK)
        await eventually(lambda: new.starts)
        assert await run(client, "edited", "echo", text="new") == "new"
        same.let_go()
        assert await hanging == "waited"  # a call on the other server was not disturbed

    assert (len(same.starts), len(old.starts), len(new.starts)) == (1, 1, 1)


async def test_a_server_that_left_the_file_is_stopped_and_unknown(workshop: Workshop):
    one, two = workshop.scripted("one"), workshop.scripted("two")
    workshop.configure({"one": one, "two": two}, **QUICK)

    async with workshop.client() as client:
        await run(client, "one", "echo", text="x")
        await run(client, "two", "echo", text="x")
        workshop.configure({"one": one}, **QUICK)
        await until_servers(client, {"one"})
        await eventually(lambda: not workshop.children("two"))
        assert failure(await execute(client, "two", "echo", text="x"))["code"] == "SERVER_NOT_FOUND"
        found = (await ask(client, "search_tools", query="echo", limit=50))["results"]
        assert {hit["server"] for hit in found} <= {"one", "toolcrib"}
        assert len(one.starts) == 1


async def test_sighup_reads_the_file_again(workshop: Workshop):
    one = workshop.scripted("one")
    workshop.configure({"one": one}, **NEVER)

    async with workshop.client() as client:
        await run(client, "one", "echo", text="x")
        rules = [{"pattern": "echo", "enabled": False}]
        workshop.configure({"one": one, "two": workshop.scripted("two")}, toolRules=rules, **NEVER)
        assert await servers_of(client) == {"one"}
        os.kill(workshop.gateway(), signal.SIGHUP)
        await until_servers(client, {"one", "two"})
        assert failure(await execute(client, "one", "echo", text="x"))["code"] == "TOOL_DISABLED"

    assert len(one.starts) == 1


async def test_a_bad_edit_keeps_the_last_good_configuration_and_says_why(workshop: Workshop):
    one = workshop.scripted("one")
    workshop.configure({"one": one}, **QUICK)

    async with workshop.client() as client:
        await run(client, "one", "echo", text="x")
        before = workshop.children("one")
        workshop.config.write_text('{"discovery": {"servers": {"one": ')
        await eventually(lambda: "the last good one stays" in workshop.complaints)
        assert str(workshop.config) in workshop.complaints
        assert await run(client, "one", "echo", text="still here") == "still here"
        os.kill(workshop.gateway(), signal.SIGHUP)
        await eventually(lambda: workshop.complaints.count("the last good one stays") == 2)
        assert workshop.children("one") == before
        workshop.configure({"one": one, "two": workshop.scripted("two")}, **QUICK)
        await until_servers(client, {"one", "two"})
        assert workshop.children("one") == before


async def test_a_file_that_is_gone_for_a_moment_changes_nothing(workshop: Workshop):
    one = workshop.scripted("one")
    workshop.configure({"one": one}, **QUICK)

    async with workshop.client() as client:
        await run(client, "one", "echo", text="x")
        workshop.config.unlink()
        await eventually(lambda: "the last good one stays" in workshop.complaints)
        assert await servers_of(client) == {"one"}
        workshop.configure({"one": one, "two": workshop.scripted("two")}, **QUICK)
        await until_servers(client, {"one", "two"})

    assert len(one.starts) == 1


async def test_a_longer_result_passes_once_its_limit_was_raised(workshop: Workshop):
    one, small = workshop.scripted("one"), {"maxStdioLineBytes": 16_000, "maxStdioResultBytes": 16_000, **QUICK}
    workshop.configure({"one": one}, **small)

    async with workshop.client() as client:
        refused = failure(await execute(client, "one", "big", characters=20_000))
        assert "longer than 16000 bytes" in refused["message"]
        assert await run(client, "one", "echo", text="x") == "x"
        workshop.configure({"one": one, "two": workshop.scripted("two")}, **{**small, "maxStdioResultBytes": 40_000})
        await until_servers(client, {"one", "two"})
        assert len(await run(client, "one", "big", characters=20_000)) >= 20_000


async def until_listed(client: LineClient, server: str) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        numbers = itertools.count(100)
        while server not in json.dumps(await client.call(next(numbers), "list_mcp_servers")):
            pass


async def test_a_longer_message_of_the_client_is_read_once_the_limit_was_raised(workshop: Workshop):
    workshop.configure({}, maxStdioLineBytes=2000, **NEVER)
    long = execution(1, "nobody", "tool", text="x" * 3000)

    async with workshop.lines() as client:
        await client.initialize()
        client.send(long)
        assert (await client.answer(None))["error"]["code"] == PARSE_ERROR
        workshop.configure({"pantry": workshop.scripted("pantry")}, maxStdioLineBytes=20_000, **NEVER)
        client.signal(signal.SIGHUP)
        await until_listed(client, "pantry")
        client.send(long)
        assert "SERVER_NOT_FOUND" in json.dumps(await client.answer(1))


async def test_running_calls_have_the_time_to_end_that_was_set_last(workshop: Workshop):
    one = workshop.scripted("one")
    workshop.configure({"one": one}, shutdownGrace=600, **NEVER)

    async with workshop.lines() as client:
        await client.initialize()
        workshop.configure({"one": one, "two": workshop.scripted("two")}, shutdownGrace=0.2, **NEVER)
        client.signal(signal.SIGHUP)
        await until_listed(client, "two")
        client.send(execution(1, "one", "hang"))
        await eventually(lambda: one.received("tools/call"))
        client.signal(signal.SIGTERM)
        assert await client.ended() == 0
