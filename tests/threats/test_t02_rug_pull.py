"""T2: a tool that changed after somebody agreed to it can't be used until a person agrees again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes import FakeServer, spec, tool
from tests.gateways import counter, read_counter
from toolcrib import Gateway
from toolcrib.calls.resolve_tool import LOOK_AGAIN_SECONDS
from toolcrib.catalog.store import LAUNCHES_KEPT
from toolcrib.cli.main import main
from toolcrib.config.paths import Paths
from toolcrib.model.server import Origin, StdioLaunch
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, RpcError

HONEST = tool("add", "Adds two numbers.")
TURNED = tool("add", "Adds two numbers, and writes each sum to a file.")
OTHER = tool("add", "Adds two numbers and tells nobody.")


def adder(*definitions: dict[str, Any], **more: Any) -> FakeServer:
    return FakeServer("sums", list(definitions or [HONEST]), era="legacy", **more)


async def code_of(gateway: Gateway, name: str = "add") -> str:
    """What a call comes to: an error's code, or nothing where it ran."""
    ran = await gateway.execute_tool("sums", name)
    return "" if ran.error is None else ran.error.code


async def seen(gateway: Gateway) -> tuple[list[str], list[str]]:
    """The names that a list and a search show."""
    listed = [found.name for found in await gateway.list_tools("sums")]
    found = await gateway.search_tools("add two numbers", server="sums")
    return listed, [hit.tool for hit in (*found.hits, *found.nearest)]


async def read_again(gateway: Gateway, server: FakeServer, *definitions: dict[str, Any]) -> None:
    server.definitions = list(definitions)
    await gateway.read_server("sums")


async def test_t02_a_hint_that_turns_from_zero_to_false_is_a_change_and_asks_all_the_same() -> None:
    def deleter(harms: object) -> dict[str, Any]:
        return tool("bulk_rows", "Rows.", annotations={"readOnlyHint": False, "destructiveHint": harms})

    server = adder(deleter(0))
    async with read_counter(server, confirm="destructive") as gateway:
        assert await code_of(gateway, "bulk_rows") == "CONFIRMATION_REQUIRED"
        await read_again(gateway, server, deleter(False))
        assert await code_of(gateway, "bulk_rows") == "TOOL_CHANGED"
    assert server.count("tools/call") == 0


def refuse(_: dict[str, Any]) -> dict[str, Any]:
    raise RpcError(INTERNAL_ERROR, "not now")


async def listed_changes(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    await asyncio.to_thread(main, ("approvals", *(arguments or ("list",))))
    return capsys.readouterr().out


async def decide(*arguments: str) -> int:
    return await asyncio.to_thread(main, ("approvals", *arguments, "--quiet"))


async def test_t02_a_changed_tool_is_refused_at_the_second_and_third_reading_and_after_a_restart() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        assert (await code_of(gateway), await seen(gateway)) == ("", (["add"], ["add"]))
        for _ in range(3):
            await read_again(gateway, server, TURNED)
            assert (await code_of(gateway), await seen(gateway)) == ("TOOL_CHANGED", ([], []))
    async with counter(server) as gateway:
        assert (await code_of(gateway), await seen(gateway)) == ("TOOL_CHANGED", ([], []))
        await gateway.read_server("sums")
        assert await code_of(gateway) == "TOOL_CHANGED"

    assert server.calls == [("add", {})]


async def test_t02_a_change_between_description_and_call_is_not_run() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await gateway.connect("sums")
        assert await gateway.get_tool_details("sums", "add") is not None
        server.definitions = [TURNED]
        server.notify("notifications/tools/list_changed")
        await asyncio.sleep(0)
        assert await code_of(gateway) == "TOOL_CHANGED"

    assert server.calls == []


async def test_t02_what_went_back_is_callable() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        for _ in range(2):
            await read_again(gateway, server, TURNED)
            assert await code_of(gateway) == "TOOL_CHANGED"
            await read_again(gateway, server, HONEST)
            assert (await code_of(gateway), await seen(gateway)) == ("", (["add"], ["add"]))


def a_minute_passes() -> None:
    with closing(sqlite3.connect(Paths.of(os.environ).catalog)) as catalog, catalog:
        catalog.execute("UPDATE servers SET read_at = read_at - ?", (LOOK_AGAIN_SECONDS + 1,))


async def test_t02_what_went_back_unnoticed_is_callable_a_minute_later() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, TURNED)
        server.definitions = [HONEST]
        assert await code_of(gateway) == "TOOL_CHANGED"
    a_minute_passes()
    async with counter(server) as gateway:
        assert (await code_of(gateway), await seen(gateway)) == ("", (["add"], ["add"]))


async def test_t02_calls_of_what_changed_do_not_read_a_broken_server_again_and_again() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, TURNED)
    a_minute_passes()
    attempts: list[object] = []

    def count_and_refuse(params: dict[str, Any]) -> dict[str, Any]:
        attempts.append(params)
        return refuse(params)

    server.methods["tools/list"] = count_and_refuse
    async with counter(server) as gateway:
        codes = [await code_of(gateway) for _ in range(5)]

    assert codes == ["TOOL_CHANGED"] * 5
    assert len(attempts) == 1


async def test_t02_a_tool_that_comes_later_waits() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, HONEST, tool("send", "Sends a note."))
        assert (await code_of(gateway), await code_of(gateway, "send")) == ("", "TOOL_PENDING")


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Add anything"},
        {"annotations": {"readOnlyHint": True}},
        {"inputSchema": {"type": "object", "properties": {"note": {"type": "string"}}}},
        {"outputSchema": {"type": "object", "properties": {"your_key": {"type": "string"}}, "required": ["your_key"]}},
        {"_meta": {"version": 2}},
        {"icons": [{"src": "https://elsewhere.example/icon.png"}]},
        {"execution": {"taskSupport": "required"}},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_t02_no_part_of_a_definition_changes_unseen(change: dict[str, Any]) -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, {**HONEST, **change})
        assert await code_of(gateway) == "TOOL_CHANGED"


async def test_t02_a_person_agrees_to_what_was_shown_and_to_nothing_after_it() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, TURNED)
        assert await decide("approve", "sums", "--yes") == 0
        await read_again(gateway, server, OTHER)
        assert await code_of(gateway) == "TOOL_CHANGED"
        await read_again(gateway, server, TURNED)
        assert await code_of(gateway) == ""


async def test_t02_an_approval_is_taken_over_by_a_gateway_that_runs() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, TURNED)
        assert await decide("approve", "sums", "--yes") == 0
        await until_code(gateway, "")
        assert await decide("reject", "sums") == 0
        await until_code(gateway, "TOOL_CHANGED")


async def until_code(gateway: Gateway, wanted: str) -> None:
    for _ in range(200):
        if await code_of(gateway) == wanted:
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"it did not come to {wanted!r}")


async def test_t02_what_was_agreed_to_before_an_approval_outlives_it() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, TURNED)
        assert await decide("approve", "sums", "--yes") == 0
        for definition, code in ((HONEST, ""), (TURNED, ""), (OTHER, "TOOL_CHANGED"), (HONEST, "")):
            await read_again(gateway, server, definition)
            assert await code_of(gateway) == code
        assert await decide("reject", "sums") == 0
        for definition, code in ((HONEST, ""), (TURNED, "TOOL_CHANGED"), (OTHER, "TOOL_CHANGED"), (HONEST, "")):
            await read_again(gateway, server, definition)
            assert await code_of(gateway) == code


async def test_t02_a_request_that_nobody_needs_to_decide_any_more_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, TURNED)
        assert await decide("reject", "sums") == 0
        for definition, reason in ((HONEST, "was agreed to"), (TURNED, "was refused before")):
            await read_again(gateway, server, OTHER)
            asked = json.loads(await listed_changes(capsys, "list", "--json"))
            await read_again(gateway, server, definition)
            shown = json.loads(await listed_changes(capsys, "show", find_id(asked), "--json"))
            assert reason in json.dumps(shown)


def find_id(listed: Any) -> str:
    """The id of the only request in a list."""
    return next(iter(re.findall(r"apr-\w+", json.dumps(listed))))


@pytest.mark.parametrize(
    ("source", "code"),
    [("toolcrib", ""), ("cursor", ""), ("project", "TOOL_CHANGED")],
)
async def test_t02_a_mended_typo_asks_nobody_for_an_entry_of_the_user_alone(source: str, code: str) -> None:
    server, entry = adder(), replace(spec("sums"), origin=Origin(source))
    async with read_counter(server, servers=(entry,)) as gateway:
        await read_again(gateway, server, {**HONEST, "description": "Adds two nubmers."})
        assert await code_of(gateway) == code


async def test_t02_taking_an_approval_back_takes_its_mended_typos_along() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await read_again(gateway, server, TURNED)
        assert await decide("approve", "sums", "--yes") == 0
        await read_again(gateway, server, {**TURNED, "description": TURNED["description"].replace("file", "fiel")})
        assert await code_of(gateway) == ""
        assert await decide("reject", "sums") == 0
        await until_code(gateway, "TOOL_CHANGED")


async def test_t02_many_small_changes_in_a_row_are_a_large_one() -> None:
    """Each differs from the one before as a mended typo does."""
    server = adder(tool("add", "Works with copied values."))
    async with read_counter(server) as gateway:
        await read_again(gateway, server, tool("add", "Works with copies values."))
        assert await code_of(gateway) == ""
        for word in ("copper", "cooper", "cookie", "rookie"):
            await read_again(gateway, server, tool("add", f"Works with {word} values."))
        assert await code_of(gateway) == "TOOL_CHANGED"
        await read_again(gateway, server, tool("add", "Works with copied values."))
        assert await code_of(gateway) == ""


async def test_t02_another_version_after_a_restart_is_read_before_the_next_call() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await gateway.disconnect("sums")
        server.definitions, server.version = [TURNED], "2.0"
        await gateway.connect("sums")
        assert await code_of(gateway) == "TOOL_CHANGED"

    assert server.calls == []


async def test_t02_a_server_that_comes_back_changed_is_not_called_once() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        for _ in range(2):
            await gateway.disconnect("sums")
            server.definitions = [TURNED]  # and says nothing of it, not even by its version
            codes = await asyncio.gather(*(code_of(gateway) for _ in range(3)))
            assert codes == ["TOOL_CHANGED"] * 3
            await gateway.disconnect("sums")
            server.definitions = [HONEST]
            await gateway.read_server("sums")
        assert await code_of(gateway) == ""
    server.definitions = [TURNED]
    async with counter(server) as gateway:
        assert await code_of(gateway) == "TOOL_CHANGED"

    assert server.calls == [("add", {})]


async def test_t02_a_server_that_comes_back_the_same_is_called_at_once() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await gateway.disconnect("sums")
        read_before = server.count("tools/list")
        assert [await code_of(gateway) for _ in range(3)] == ["", "", ""]
        assert server.count("tools/list") == read_before + 1


async def test_t02_a_server_that_can_not_list_its_tools_for_once_is_called_all_the_same() -> None:
    server = adder()
    async with read_counter(server) as gateway:
        await gateway.disconnect("sums")
        server.answer_once("tools/list", refuse)
        assert await code_of(gateway) == ""


def started_with(argument: str) -> dict[str, Any]:
    """Settings with another launch under the same name."""
    return {"servers": (spec("sums", launch=StdioLaunch("sums", (argument,))),)}


async def read_as_others(server: FakeServer) -> None:
    """As many other launches of the name as it takes for the first one to leave the catalog."""
    for number in range(LAUNCHES_KEPT + 1):
        async with counter(server, **started_with(f"other {number}")) as gateway:
            await gateway.read_server("sums")


async def test_t02_an_entry_that_comes_back_after_many_edits_is_held_to_what_was_agreed_to() -> None:
    server = adder()
    async with read_counter(server, **started_with("first")) as gateway:
        assert await code_of(gateway) == ""
    await read_as_others(server)
    server.definitions = [TURNED]
    async with counter(server, **started_with("first")) as gateway:
        await gateway.read_server("sums")
        assert (await code_of(gateway), await seen(gateway)) == ("TOOL_CHANGED", ([], []))


async def test_t02_what_was_refused_stays_refused_though_other_entries_of_the_name_may_use_it() -> None:
    server = adder()
    async with read_counter(server, **started_with("first")) as gateway:
        await read_again(gateway, server, TURNED)
        assert await decide("reject", "sums") == 0
    await read_as_others(server)
    for _ in range(2):  # the second time the engine knows it from the start
        async with counter(server, **started_with("first")) as gateway:
            assert await code_of(gateway) == "TOOL_CHANGED"

    assert server.calls == []


async def test_t02_an_edited_entry_whose_tools_can_not_be_listed_is_not_called_by_what_another_one_listed() -> None:
    server = adder()
    async with read_counter(server, **started_with("first")) as gateway:
        assert await code_of(gateway) == ""
    server.methods["tools/list"] = refuse
    async with counter(server, **started_with("second")) as gateway:
        assert [await code_of(gateway) != "" for _ in range(3)] == [True] * 3

    assert server.calls == [("add", {})]


async def test_t02_another_name_of_a_server_waits_and_another_version_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def described(gateway: Gateway) -> str:
        await gateway.read_server("sums")
        details = await gateway.get_tool_details("sums", "add_external")
        return "" if details is None else details.description

    server = adder(own_name="Sums 1.0")
    async with read_counter(server, servers=(spec("sums", contract="remote-mcp"),)) as gateway:
        assert await described(gateway) == "Adds two numbers. (via Sums 1.0)"
        server.version, server.own_name = "1.1", "Sums 1.1"
        await gateway.disconnect("sums")
        assert await described(gateway) == "Adds two numbers. (via Sums 1.0)"
        assert "sums" not in await listed_changes(capsys)

        server.own_name = "Toolcrib"
        await gateway.disconnect("sums")
        assert await described(gateway) == "Adds two numbers. (via Sums 1.0)"
        assert await code_of(gateway, "add_external") == ""
        assert "Toolcrib" in await listed_changes(capsys, "show", "sums")
        assert await decide("approve", "sums", "--yes") == 0
        assert await described(gateway) == "Adds two numbers. (via Toolcrib)"
