"""The library's door, with the real wiring, a real catalog on disk, and servers in memory."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from tests.fakes import FakeServer, FakeServers, eventually, spec, text, tool
from tests.gateways import counter, read_counter
from tests.servers.registry import Registry, serve
from toolcrib import Gateway, Settings, open_gateway
from toolcrib.config.paths import Paths
from toolcrib.engine.live_registry import sync_one
from toolcrib.engine.registry import open_mirror
from toolcrib.errors import ConfigurationError, ServerConnectionError, ValidationError
from toolcrib.model.call import ExecutionResult, LogMessage, Progress, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.model.server import DeclaredTool
from toolcrib.model.tool_rule import ToolRule
from toolcrib.model.view import SearchHit, ToolSummary
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.requests import Request
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.wire.jsonrpc import RpcError

READ = tool(
    "read_file",
    "Read the content of a file. It must exist.",
    inputSchema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
WRITE = tool("write_file", "Write a text into a file.")
DELETE = tool("delete_file", "Delete a file for ever.")
_ABOUT_ITEMS = ["list_resources", "read_resource", "list_prompts", "get_prompt", "complete"]
NO_DELETING = ToolRule(("delete*",), enabled=False, tags=("dangerous",))


def files(**more: Any) -> FakeServer:
    return FakeServer("files", [READ, WRITE, DELETE], **more)


async def run(gateway: Gateway, name: str, **arguments: Any) -> ExecutionResult:
    return await gateway.execute_tool("files", name, arguments)


def audited() -> list[dict[str, Any]]:
    lines = Paths.of(os.environ).audit_log.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


# -- looking


async def test_servers_are_listed_in_the_order_of_the_configuration_with_their_counts() -> None:
    web = FakeServer("web", [tool("fetch")])

    async with counter(web, files(), tool_rules=(NO_DELETING,)) as gateway:
        await gateway.list_tools("files")
        await gateway.list_tools("web")
        found = await gateway.list_servers()

    assert [(s.name, s.tool_count, s.enabled_count, s.status.state) for s in found] == [
        ("web", 1, 1, "connected"),
        ("files", 3, 2, "connected"),
    ]


async def test_a_server_is_described_by_its_entry_or_by_itself_or_by_its_name() -> None:
    shy, told = FakeServer("shy"), FakeServer("told")
    own = FakeServer("own", methods={"server/discover": lambda _: _introduced("Says it itself.")})

    specs = (spec("shy"), spec("told", description="From the entry."), spec("own"))
    async with counter(shy, told, own, servers=specs) as gateway:
        await gateway.list_tools("own")
        found = await gateway.list_servers()

    assert [s.description for s in found] == ["MCP server: shy", "From the entry.", "Says it itself."]


def _introduced(description: str) -> dict[str, Any]:
    info = {"name": "own", "description": description}
    meta = {"io.modelcontextprotocol/serverInfo": info}
    return {"supportedVersions": ["2026-07-28"], "capabilities": {}, "_meta": meta}


async def test_the_built_in_server_is_not_listed_and_its_tools_are_found() -> None:
    async with counter() as gateway:
        assert await gateway.list_servers() == []
        hits = await gateway.search_tools("read more of a large result by its handle")
        assert (hits.hits[0].server, hits.hits[0].tool) == ("toolcrib", "read_result")
        names = [found.name for found in await gateway.list_tools("toolcrib")]
        assert names == ["read_result", "get_schema", "list_more", "introspect_server", *_ABOUT_ITEMS]


async def test_a_server_that_can_not_be_read_is_listed_with_the_reason() -> None:
    async with counter(servers=(spec("gone"),)) as gateway:
        assert await gateway.list_tools("gone") == []
        (found,) = await gateway.list_servers()

    assert (found.status.state, found.status.reason) == ("error", "the command 'gone' was not found")


@pytest.mark.parametrize("code", [-32600, -32601, -32602])
async def test_a_tool_that_answers_with_a_protocol_error_runs_once_and_disturbs_nobody(code: int) -> None:
    """Also on the first call of a gateway that remembers the server from an earlier one."""
    ran: list[str] = []

    def pay(_: dict[str, Any]) -> dict[str, Any]:
        ran.append("paid")
        raise RpcError(code, "the card was refused")

    shop = FakeServer("files", [tool("pay"), tool("wait")], tools={"pay": pay, "wait": _never})
    async with counter(shop) as gateway:
        await gateway.list_tools("files")
    async with counter(shop) as gateway:
        waiting = asyncio.create_task(run(gateway, "wait"))
        await eventually(lambda: shop.running)
        answers = [await run(gateway, "pay") for _ in range(6)]
        assert not waiting.done()
        waiting.cancel()

    assert ran == ["paid"] * 6
    assert {(answer.error.code, answer.error.message) for answer in answers if answer.error} == {
        ("TOOL_EXECUTION_ERROR", "the card was refused")
    }
    assert shop.starts == 2


async def _never(_: dict[str, Any]) -> dict[str, Any]:
    return await asyncio.get_running_loop().create_future()


async def test_a_tool_with_a_header_that_can_not_be_sent_is_left_out_and_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "number", "x-mcp-header": "Path"}}}
    for era, names in (("modern", ["read_file"]), ("legacy", ["read_file", "odd"])):
        server = FakeServer(era, [READ, tool("odd", inputSchema=schema)], era=era)

        async with counter(server) as gateway:
            assert [found.name for found in await gateway.list_tools(era)] == names

    (said,) = [record.getMessage() for record in caplog.records if "x-mcp-header" in record.getMessage()]
    assert "modern" in said
    assert "'odd' is left out" in said


async def test_the_reason_is_known_to_the_next_gateway_too() -> None:
    async with counter(servers=(spec("gone"),)) as gateway:
        await gateway.list_tools("gone")
    async with counter(servers=(spec("gone"),)) as gateway:
        (found,) = await gateway.list_servers()

    assert found.status.reason == "the command 'gone' was not found"


async def test_tools_are_listed_without_the_disabled_ones_unless_asked_for() -> None:
    async with counter(files(), tool_rules=(NO_DELETING,)) as gateway:
        enabled = await gateway.list_tools("files")
        everything = await gateway.list_tools("files", include_disabled=True)

    assert enabled == [
        ToolSummary("files", "read_file", "Read the content of a file.", enabled=True),
        ToolSummary("files", "write_file", "Write a text into a file.", enabled=True),
    ]
    assert everything[2:] == [
        ToolSummary(
            *("files", "delete_file", "Delete a file for ever."),
            enabled=False,
            tags=("dangerous",),
            reason="disabled by rule 1 (delete*)",
        )
    ]


async def test_unknown_names_are_none_or_nothing() -> None:
    async with counter(files()) as gateway:
        assert await gateway.list_tools("nowhere") == []
        assert await gateway.get_tool_details("nowhere", "read_file") is None
        assert await gateway.get_tool_details("files", "reed_file") is None
        assert (await gateway.search_tools("read", server="nowhere")).hits == ()


async def test_details_hold_everything_needed_to_call() -> None:
    async with counter(files(), tool_rules=(NO_DELETING,)) as gateway:
        found = await gateway.get_tool_details("files", "read_file")
        disabled = await gateway.get_tool_details("files", "delete_file")

    assert (found.server, found.tool, found.description) == ("files", "read_file", READ["description"])
    assert [(p.name, p.type, p.required) for p in found.parameters] == [("path", "string", True)]
    assert found.definition == READ
    assert (found.enabled, disabled.enabled, disabled.tags) == (True, False, ("dangerous",))


@pytest.mark.parametrize(("server", "name"), [("files", "files:read_file"), ("", "files:read_file")])
async def test_a_tool_may_be_named_with_its_server(server: str, name: str) -> None:
    async with counter(files()) as gateway:
        assert (await gateway.get_tool_details(server, name)).tool == "read_file"
        assert (await gateway.execute_tool(server, name, {"path": "/x"})).success


# -- searching


async def test_a_search_finds_by_words_and_an_exact_name_first() -> None:
    async with counter(files()) as gateway:
        await gateway.list_tools("files")
        by_words = await gateway.search_tools("put some text into a file")
        by_name = await gateway.search_tools("read_file")

    assert by_words.hits[0].tool == "write_file"
    assert by_name.hits[0] == SearchHit("files", "read_file", "Read the content of a file.", 1.0)
    assert len(by_name) == len(list(by_name)) > 0


async def test_disabled_tools_are_found_only_when_the_library_asks() -> None:
    async with counter(files(), tool_rules=(NO_DELETING,)) as gateway:
        await gateway.list_tools("files")
        assert "delete_file" not in [hit.tool for hit in await gateway.search_tools("delete a file for ever")]
        shown = await gateway.search_tools("delete a file for ever", include_disabled=True)
        assert (shown.hits[0].tool, shown.hits[0].enabled) == ("delete_file", False)


async def test_a_limit_is_honoured_and_without_one_the_answer_is_small() -> None:
    many = FakeServer("many", [tool(f"find_item_{number}", "Find one item in the list.") for number in range(60)])

    async with counter(many) as gateway:
        await gateway.list_tools("many")
        assert len(await gateway.search_tools("find item", limit=3)) == 3
        assert len(await gateway.search_tools("find item", limit=40)) == 40
        assert len(await gateway.search_tools("find item", limit=10_000)) <= 100
        assert 1 <= len(await gateway.search_tools("find item")) <= 10


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_is_refused(limit: int) -> None:
    async with counter(files()) as gateway:
        with pytest.raises(ValidationError, match="limit"):
            await gateway.search_tools("read", limit=limit)


@pytest.mark.parametrize("query", ["", "   \n", "x" * 4097])
async def test_an_empty_or_endless_query_is_refused(query: str) -> None:
    async with counter(files()) as gateway:
        with pytest.raises(ValidationError, match="query"):
            await gateway.search_tools(query)


async def test_nothing_that_fits_is_said() -> None:
    async with counter(files()) as gateway:
        await gateway.list_tools("files")
        answer = await gateway.search_tools("zyxwvut")
        on_server = await gateway.search_tools("zyxwvut", server="files")

    assert (answer.hits, answer.note.split(".")[0]) == ((), "Nothing fits")
    assert on_server.note.startswith("Nothing fits on server files.")


async def test_a_search_that_finds_nothing_names_servers_of_the_registries_that_would_fit() -> None:
    with serve(Registry()) as registry:
        settings = {"registry_urls": (registry.url,), "registry_rate": 1000.0}
        async with counter(files(), **settings) as gateway:
            assert "may fit" not in (await gateway.search_tools("geocoding maps routes")).note

        await _copy(registry)
        asked = len(registry.requests)
        async with counter(files(), **settings) as gateway:
            # The copy is read aside: the first searches do without.
            await eventually(lambda: gateway._hints.names("geocoding maps routes"))
            answer = await gateway.search_tools("geocoding maps routes")
            found = await gateway.search_tools("read a file")
            elsewhere = await gateway.search_tools("geocoding maps routes", server="files")

    assert answer.note.endswith("Not installed, but may fit (a person must add them): io.github.acme/atlas.")
    assert found.note == ""
    assert "may fit" not in elsewhere.note
    assert len(registry.requests) == asked


async def _copy(registry: Registry) -> None:
    settings = Settings(registry_urls=(registry.url,), registry_rate=1000.0)
    mirror = open_mirror(settings, Paths.of(os.environ))
    await sync_one(settings, mirror, registry.url, is_full=False, on_page=lambda *_: None)
    mirror.close()


async def test_an_address_of_a_registry_that_cannot_be_used_stops_no_gateway() -> None:
    async with counter(files(), registry_urls=("nonsense",)) as gateway:
        assert (await gateway.search_tools("geocoding")).note.startswith("Nothing fits")


async def test_a_search_while_servers_are_read_says_how_many() -> None:
    slow = [FakeServer(f"slow{number}", [tool("x")], on_open=_hang) for number in range(2)]

    async with counter(files(), *slow) as gateway:
        await gateway.list_tools("files")
        answer = await gateway.search_tools("read file")

    assert answer.hits[0].tool == "read_file"
    assert answer.note == "2 servers are still being read; search again shortly."


async def _hang() -> None:
    await asyncio.get_running_loop().create_future()


async def test_the_very_first_search_waits_for_the_first_reading_only() -> None:
    slow = FakeServer("slow", [tool("x")], on_open=_hang)

    async with counter(slow, files()) as gateway:
        answer = await gateway.search_tools("read file")

    assert answer.hits[0].tool == "read_file"
    assert answer.note == "1 server is still being read; search again shortly."


async def test_the_next_gateway_answers_the_first_search_without_starting_anything() -> None:
    async with counter(files()) as gateway:
        await gateway.list_tools("files")
    servers = files()

    async with counter(servers) as gateway:
        answer = await gateway.search_tools("read file")
        await gateway.get_tool_details("files", "read_file")
        assert (answer.hits[0].tool, answer.note, servers.starts) == ("read_file", "", 0)
        assert (await gateway.list_servers())[0].status.state == "disconnected"


# -- running


async def test_arguments_are_forwarded_and_the_result_comes_back() -> None:
    server = files(tools={"read_file": lambda arguments: text(f"content of {arguments['path']}")})

    async with counter(server) as gateway:
        outcome = await run(gateway, "read_file", path="/ñ")

    assert (outcome.success, outcome.value, outcome.error) == (True, "content of /ñ", None)
    assert server.calls == [("read_file", {"path": "/ñ"})]


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": [], "structuredContent": {"n": 1}}, {"n": 1}),
        (text('{"n": 1}'), {"n": 1}),
        (text(" [1, 2]\n"), [1, 2]),
        (text("1.10"), "1.10"),
        (text("true"), "true"),
        (text('{"broken": '), '{"broken": '),
        (text("words"), "words"),
        ({"content": []}, []),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "QQ==", "mimeType": "image/png"}]},
            [{"type": "text", "text": "a"}, {"type": "image", "data": "QQ==", "mimeType": "image/png"}],
        ),
        ({}, []),
    ],
)
async def test_the_value_is_the_payload_whatever_way_the_server_gave_it(result: dict[str, Any], value: Any) -> None:
    async with counter(files(tools={"write_file": lambda _: result})) as gateway:
        outcome = await run(gateway, "write_file")

    assert (outcome.success, outcome.value) == (True, value)


@pytest.mark.parametrize(
    "result",
    [
        {"content": "not blocks"},
        {"content": [7, {"type": "text", "text": "a"}]},
        {"content": [{"type": 7}]},
        {"content": [{"text": "of no type"}]},
        {"content": [{"type": "text", "text": 7}]},
        {"content": [{"type": "image", "data": "QQ=="}]},
        {"content": [], "isError": "maybe"},
        {"content": [], "_meta": []},
    ],
)
async def test_a_result_that_no_client_could_read_is_an_error_of_the_server(result: dict[str, Any]) -> None:
    async with counter(files(tools={"write_file": lambda _: result})) as gateway:
        outcome = await run(gateway, "write_file")

    assert outcome.error is not None
    assert outcome.error.code == "TOOL_EXECUTION_ERROR"
    assert outcome.error.message.startswith("the server returned a malformed result: ")


async def test_a_result_with_null_for_what_its_server_left_out_is_a_result() -> None:
    """As servers write it whose library writes every field there is."""
    given = {**text("done"), "_meta": None, "isError": False, "structuredContent": None}
    async with counter(files(tools={"write_file": lambda _: given})) as gateway:
        outcome = await run(gateway, "write_file")
        asked = b'{"server":"files","tool":"write_file","arguments":{"path":"a","content":"b"}}'
        answer = await MetaTools(gateway).call("execute_tool", asked, Request(Caller("agent")))

    assert outcome.error is None
    # Many clients take a null there for a broken answer.
    assert "_meta" not in answer
    assert b"done" in bytes(answer["content"])


async def test_a_tool_that_says_it_failed_is_an_error_with_its_words_and_its_result() -> None:
    failed = {**text("disk full"), "isError": True, "structuredContent": {"errno": 28}}

    async with counter(files(tools={"write_file": lambda _: failed})) as gateway:
        outcome = await run(gateway, "write_file")

    assert (outcome.success, outcome.value) == (False, None)
    assert (outcome.error.code, outcome.error.message) == ("TOOL_EXECUTION_ERROR", "disk full")
    assert json.loads(outcome.result.structured_json) == {"errno": 28}


@pytest.mark.parametrize(
    ("failed", "message"),
    [
        ({"content": [], "isError": True, "structuredContent": {"errno": 28}}, '{"errno": 28}'),
        ({"content": [], "isError": True}, "the tool reported a failure without a message"),
    ],
)
async def test_a_failure_without_text_still_has_a_message(failed: dict[str, Any], message: str) -> None:
    async with counter(files(tools={"write_file": lambda _: failed})) as gateway:
        assert (await run(gateway, "write_file")).error.message == message


@pytest.mark.parametrize(
    ("server", "name", "arguments", "code"),
    [
        ("nowhere", "read_file", {}, "SERVER_NOT_FOUND"),
        ("files", "reed_file", {}, "TOOL_NOT_FOUND"),
        ("files", "delete_file", {}, "TOOL_DISABLED"),
        ("files", "read_file", {}, "TOOL_VALIDATION_ERROR"),
        ("files", "read_file", {"path": 5}, "TOOL_VALIDATION_ERROR"),
        ("gone", "anything", {}, "SERVER_CONNECTION_ERROR"),
        ("", "", {}, "SERVER_NOT_FOUND"),
    ],
)
async def test_whatever_goes_wrong_is_in_the_result_with_a_code(
    server: str, name: str, arguments: dict[str, Any], code: str
) -> None:
    upstream = files()
    specs = (spec("files"), spec("gone"))

    async with counter(upstream, servers=specs, tool_rules=(NO_DELETING,)) as gateway:
        outcome = await gateway.execute_tool(server, name, arguments)

    assert (outcome.success, outcome.value, outcome.error.code) == (False, None, code)
    assert (outcome.error.server, outcome.error.tool) == (server, name)
    assert upstream.calls == []


async def test_a_wrong_name_comes_with_the_names_that_may_have_been_meant() -> None:
    async with counter(files(), tool_rules=(NO_DELETING,)) as gateway:
        tool_error = (await run(gateway, "raed_file")).error
        server_error = (await gateway.execute_tool("fiels", "read_file")).error

    assert tool_error.details["nearest"][0] == "read_file"
    assert tool_error.details["available"] == ["read_file", "write_file"]
    assert server_error.details == {"nearest": ["files"]}
    assert tool_error.hint


@pytest.mark.parametrize("arguments", [{"x": object()}, {"x": "\ud800"}, ["a"], "text", 5])
async def test_arguments_that_are_no_json_object_are_an_error_in_the_result(arguments: Any) -> None:
    async with counter(files()) as gateway:
        assert (await gateway.execute_tool("files", "write_file", arguments)).error.code == "TOOL_VALIDATION_ERROR"


async def test_what_is_checked_is_what_is_sent() -> None:
    server = files()

    async with counter(server) as gateway:
        assert (await gateway.execute_tool("files", "write_file", {1: (2, 3)})).success

    assert server.calls == [("write_file", {"1": [2, 3]})]


async def test_an_answer_that_is_no_result_is_an_error_of_that_server() -> None:
    async with counter(files(tools={"write_file": lambda _: ["odd"]})) as gateway:
        assert (await run(gateway, "write_file")).error.code == "TOOL_EXECUTION_ERROR"


async def test_a_slow_tool_is_a_timeout() -> None:
    async with counter(files(tools={"write_file": lambda _: _forever()}), call_timeout_seconds=0.05) as gateway:
        assert (await run(gateway, "write_file")).error.code == "TOOL_EXECUTION_TIMEOUT"


async def _forever() -> dict[str, Any]:
    return await asyncio.get_running_loop().create_future()


async def test_a_call_lost_on_the_way_is_not_repeated_and_its_outcome_is_unknown() -> None:
    server = files()
    server.tools["write_file"] = lambda _: server.crash()

    async with counter(server) as gateway:
        outcome = await run(gateway, "write_file")

    assert outcome.error.code == "SERVER_CONNECTION_ERROR"
    assert outcome.error.hint.startswith("Outcome unknown")
    assert len(server.calls) == 1


async def test_a_read_only_tool_is_run_again_after_a_crash() -> None:
    server = FakeServer("files", [tool("look", annotations={"readOnlyHint": True})])

    def crash_once(_: dict[str, Any]) -> dict[str, Any]:
        server.tools.clear()
        server.crash()
        return {}

    server.tools["look"] = crash_once

    async with counter(server) as gateway:
        assert (await run(gateway, "look")).success

    assert len(server.calls) == 2


async def test_a_call_that_finds_its_server_just_gone_is_made_on_a_new_one() -> None:
    server = files()

    async with counter(server) as gateway:
        await run(gateway, "write_file")
        server.crash()
        assert (await run(gateway, "write_file")).success

    assert server.starts == 2


async def test_more_calls_than_allowed_are_refused_and_taken_again_later() -> None:
    gate = asyncio.Event()

    async def wait(_: dict[str, Any]) -> dict[str, Any]:
        await gate.wait()
        return text("done")

    server = files(tools={"write_file": wait})

    async with counter(server, max_calls=2) as gateway:
        running = [asyncio.create_task(run(gateway, "write_file")) for _ in range(2)]
        await eventually(lambda: server.running == 2)
        assert (await run(gateway, "write_file")).error.code == "OVERLOADED"
        assert (await run(gateway, "nothing")).error.code == "TOOL_NOT_FOUND"
        gate.set()
        assert [outcome.success for outcome in await asyncio.gather(*running)] == [True, True]
        assert (await run(gateway, "write_file")).success


async def test_declared_tools_work_before_the_server_was_ever_read() -> None:
    async def no_list(_: dict[str, Any]) -> dict[str, Any]:
        return await _forever()

    server = FakeServer("files", methods={"tools/list": no_list})
    entry = spec("files", declared_tools=(DeclaredTool("read_file", "Read a file."),))

    async with counter(server, servers=(entry,), startup_timeout_seconds=0.2) as gateway:
        assert (await gateway.search_tools("read a file")).hits[0].tool == "read_file"
        assert (await run(gateway, "read_file", path="/x")).value == {"path": "/x"}


async def test_declared_tools_are_checked_like_any_other() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    server = FakeServer("files", [tool("read_file", inputSchema=schema), tool("other", inputSchema=schema)])
    declared = (DeclaredTool("read_file"), DeclaredTool("other", "", schema), DeclaredTool("gone"))

    async with counter(server, servers=(spec("files", declared_tools=declared),)) as gateway:
        for name in ("other", "read_file"):
            refused = await run(gateway, name, path={"a": 1})
            assert refused.error.code == "TOOL_VALIDATION_ERROR"
        assert server.calls == []
        assert (await run(gateway, "read_file", path="/x")).success
        assert (await run(gateway, "gone")).error.code == "TOOL_NOT_FOUND"


async def test_a_prefix_is_shown_to_callers_and_taken_off_for_the_server() -> None:
    server = files()

    async with counter(server, servers=(spec("files", prefix="disk_"),)) as gateway:
        assert (await gateway.list_tools("files"))[0].name == "disk_read_file"
        assert (await run(gateway, "disk_write_file")).success
        assert (await run(gateway, "write_file")).error.code == "TOOL_NOT_FOUND"

    assert server.calls == [("write_file", {})]


@pytest.mark.parametrize("order", [1, -1])
async def test_without_a_word_about_precedence_a_rule_that_denies_wins_wherever_it_stands(order: int) -> None:
    rules = (ToolRule(("*",), enabled=True), ToolRule(("*delete*",), enabled=False))[::order]

    async with counter(files(), tool_rules=rules) as gateway:
        assert {found.name for found in await gateway.list_tools("files")} == {"read_file", "write_file"}
        assert (await run(gateway, "delete_file")).error.code == "TOOL_DISABLED"


async def test_the_tools_of_a_server_are_looked_up_again_after_it_has_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up: list[str] = []
    tools = SqliteCatalog.tools

    def counted(store: SqliteCatalog, server: str) -> Any:
        looked_up.append(server)
        return tools(store, server)

    monkeypatch.setattr(SqliteCatalog, "tools", counted)
    server = files()
    async with counter(server) as gateway:
        assert (await run(gateway, "write_file")).success
        await gateway.list_tools("files")
        before = len(looked_up)
        await gateway.list_tools("files")
        assert len(looked_up) == before
        server.crash()
        assert (await run(gateway, "write_file")).success
        await eventually(lambda: len(looked_up) > before)


async def test_the_entrys_own_lists_decide_too() -> None:
    entry = spec("files", allow_tools=("read_file", "write_file"), deny_tools=("write_file",))

    async with counter(files(), servers=(entry,)) as gateway:
        assert [found.name for found in await gateway.list_tools("files")] == ["read_file"]
        assert "denyTools" in (await run(gateway, "write_file")).error.message
        assert "allowTools" in (await run(gateway, "delete_file")).error.message


async def test_the_built_in_tools_are_run_like_any_other_and_checked_like_any_other() -> None:
    async with counter(files()) as gateway:
        await gateway.list_tools("files")
        schema = await gateway.execute_tool("toolcrib", "get_schema", {"server": "files", "tool": "read_file"})
        bad = await gateway.execute_tool("toolcrib", "read_result", {"handle": "x", "offset": -1})
        expired = await gateway.execute_tool("toolcrib", "read_result", {"handle": "x"})

    assert schema.value == READ
    assert (bad.error.code, expired.error.code) == ("TOOL_VALIDATION_ERROR", "RESULT_EXPIRED")


async def test_a_kept_result_is_for_its_caller_only() -> None:
    me, other = Caller("me", "library", "me"), Caller("other", "library", "other")

    async with counter() as gateway:
        handle = gateway.keep_result(me, b"large")
        mine = await gateway.execute_tool("toolcrib", "read_result", {"handle": handle}, caller=me)
        theirs = await gateway.execute_tool("toolcrib", "read_result", {"handle": handle}, caller=other)

    assert (mine.value, theirs.error.code) == ("large", "RESULT_EXPIRED")


# -- streaming


def chatty(server: FakeServer) -> None:
    def chat(_: dict[str, Any]) -> dict[str, Any]:
        token = server.heard[-1][1]["_meta"]["progressToken"]
        server.notify("notifications/progress", {"progressToken": token, "progress": 1, "total": 2})
        server.notify("notifications/message", {"level": "info", "data": "half way"})
        return text("done")

    server.tools["write_file"] = chat


async def test_a_stream_gives_progress_and_logs_in_order_and_then_the_outcome() -> None:
    server = files()
    chatty(server)

    async with counter(server) as gateway:
        events = [event async for event in gateway.execute_stream("files", "write_file")]

    assert events[:2] == [Progress({"progress": 1, "total": 2}), LogMessage({"level": "info", "data": "half way"})]
    assert [event.value for event in events[2:]] == ["done"]


async def test_a_stream_of_a_call_that_is_refused_is_its_outcome() -> None:
    async with counter(files()) as gateway:
        events = [event async for event in gateway.execute_stream("files", "nothing")]

    assert [event.error.code for event in events] == ["TOOL_NOT_FOUND"]


async def test_leaving_a_stream_cancels_the_call_on_the_server() -> None:
    server = files()
    chatty(server)
    quick = server.tools["write_file"]

    async def then_hang(arguments: dict[str, Any]) -> dict[str, Any]:
        quick(arguments)
        return await _forever()

    server.tools["write_file"] = then_hang

    async with counter(server) as gateway:
        stream = gateway.execute_stream("files", "write_file")
        assert await anext(stream) == Progress({"progress": 1, "total": 2})
        await stream.aclose()
        await eventually(lambda: server.cancelled and not server.running)

    assert audited()[-1]["outcome"] == "CANCELLED"


async def test_cancelling_who_waits_for_the_next_event_cancels_the_call() -> None:
    server = files(tools={"write_file": lambda _: _forever()})

    async def consume(gateway: Gateway) -> None:
        async for _ in gateway.execute_stream("files", "write_file"):
            pass

    async with counter(server) as gateway:
        consumer = asyncio.create_task(consume(gateway))
        await eventually(lambda: server.running)
        consumer.cancel()
        await asyncio.gather(consumer, return_exceptions=True)
        await eventually(lambda: server.cancelled and not server.running)
        assert consumer.cancelled()


async def test_our_own_fault_in_a_streamed_call_is_raised_after_what_was_heard() -> None:
    async with counter(files()) as gateway:

        async def broken(call: ToolCall) -> Any:
            call.listener(Progress({"progress": 1}))
            raise KeyError("surprise")

        gateway._call_tool = broken
        stream = gateway.execute_stream("files", "write_file")
        assert await anext(stream) == Progress({"progress": 1})
        with pytest.raises(KeyError):
            await anext(stream)


# -- audit


async def test_every_execution_is_in_the_audit_log_by_names_only() -> None:
    server = files(tools={"write_file": lambda _: {**text("no"), "isError": True}})

    async with counter(server, tool_rules=(NO_DELETING,)) as gateway:
        await run(gateway, "read_file", path="/secret")
        await run(gateway, "read_file", path=5)
        await run(gateway, "delete_file")
        await run(gateway, "write_file")
        await gateway.execute_tool("nowhere", "read_file", caller=Caller("me", "cli", "me"))

    lines = audited()
    assert [(line["tool"], line["outcome"]) for line in lines] == [
        ("read_file", "OK"),
        ("read_file", "TOOL_VALIDATION_ERROR"),
        ("delete_file", "TOOL_DISABLED"),
        ("write_file", "TOOL_EXECUTION_ERROR"),
        ("read_file", "SERVER_NOT_FOUND"),
    ]
    assert (lines[-1]["caller"], lines[-1]["face"]) == ("me", "cli")
    assert "/secret" not in Paths.of(os.environ).audit_log.read_text(encoding="utf-8")


async def test_a_call_given_up_while_its_server_was_being_read_is_recorded() -> None:
    async with counter(FakeServer("files", on_open=_hang)) as gateway:
        call = asyncio.create_task(run(gateway, "read_file"))
        await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    assert [line["outcome"] for line in audited()] == ["CANCELLED"]


# -- changes


async def test_a_server_that_says_its_tools_changed_is_read_again() -> None:
    server = files(era="legacy")

    async with counter(server, on_change="warn") as gateway:
        await gateway.list_tools("files")
        server.definitions = [tool("brand_new")]
        server.notify("notifications/tools/list_changed")
        await _until_listed(gateway, ["brand_new"])
        assert (server.starts, server.count("tools/list")) == (1, 2)


async def _until_listed(gateway: Gateway, names: list[str]) -> None:
    listed: list[str] = []
    async with asyncio.timeout(10):
        while listed != names:
            await asyncio.sleep(0.02)
            listed = [found.name for found in await gateway.list_tools("files")]


@pytest.mark.parametrize("before", ["legacy", "modern"])
async def test_a_server_that_came_back_in_another_version_or_era_is_read_again(before: Any) -> None:
    async with counter(files(era=before)) as gateway:
        await gateway.list_tools("files")
    server = FakeServer("files", [tool("brand_new"), WRITE], era="legacy", version="2.0")

    async with counter(server, on_change="warn") as gateway:
        assert (await run(gateway, "write_file")).success
        await _until_listed(gateway, ["brand_new", "write_file"])


async def test_without_a_cache_the_catalog_answers_and_the_first_need_reads_again() -> None:
    async with counter(files()) as gateway:
        await gateway.list_tools("files")
    server = FakeServer("files", [WRITE])

    async with counter(server, cache_enabled=False) as gateway:
        assert (await gateway.search_tools("read_file")).hits[0].tool == "read_file"
        assert server.starts == 0
        assert [found.name for found in await gateway.list_tools("files")] == ["write_file"]
        assert server.count("tools/list") == 1
        await gateway.list_tools("files")
        assert server.count("tools/list") == 1


async def test_switched_off_the_counter_is_empty_and_says_so() -> None:
    server = files()

    async with counter(server, enabled=False) as gateway:
        assert await gateway.list_servers() == []
        assert "discovery.enabled: false" in (await gateway.search_tools("read file")).note
        assert await gateway.list_tools("files") == []
        assert (await run(gateway, "read_file", path="/x")).error.code == "SERVER_NOT_FOUND"

    assert server.starts == 0


# -- reload


def configuration(path: Path, **section: Any) -> Path:
    path.write_text(yaml.safe_dump({"discovery": section}), encoding="utf-8")
    return path


def entry(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": "fake", "args": [name], **more}


async def test_a_reload_takes_over_new_servers_and_rules_and_leaves_the_rest_connected(tmp_path: Path) -> None:
    servers = FakeServers(files(), FakeServer("web", [tool("fetch")]), FakeServer("extra", [tool("more")]))
    path = configuration(tmp_path / "toolcrib.yaml", servers=[entry("files"), entry("web")], reloadInterval=3600)

    async with open_gateway(path, opener=servers) as gateway:
        await run(gateway, "write_file")
        await gateway.execute_tool("web", "fetch")
        rule = {"pattern": "write*", "enabled": False}
        configuration(path, servers=[entry("files"), entry("extra")], toolRules=[rule])

        fresh = await gateway.reload()

        assert [server.name for server in fresh.servers] == ["files", "extra"]
        assert gateway.settings is fresh
        assert (await run(gateway, "write_file")).error.code == "TOOL_DISABLED"
        assert (await gateway.execute_tool("extra", "more")).success
        assert (await gateway.execute_tool("web", "fetch")).error.code == "SERVER_NOT_FOUND"
        assert (servers["files"].starts, servers["web"].open_links) == (1, [])


async def test_a_reload_of_a_changed_launch_reads_that_server_again(tmp_path: Path) -> None:
    servers = FakeServers(files())
    path = configuration(tmp_path / "toolcrib.yaml", servers=[entry("files")], reloadInterval=3600)

    async with open_gateway(path, opener=servers) as gateway:
        await gateway.list_tools("files")
        servers["files"].definitions = [tool("brand_new")]
        configuration(path, servers=[entry("files", args=["elsewhere"])])
        await gateway.reload()
        await _until_listed(gateway, ["brand_new"])
        assert (servers["files"].starts, servers["files"].count("tools/list")) == (2, 2)


async def test_a_bad_edit_is_raised_and_changes_nothing(tmp_path: Path) -> None:
    servers = FakeServers(files())
    path = configuration(tmp_path / "toolcrib.yaml", servers=[entry("files")], reloadInterval=3600)

    async with open_gateway(path, opener=servers) as gateway:
        before = gateway.settings
        path.write_text("discovery: [", encoding="utf-8")
        with pytest.raises(ConfigurationError):
            await gateway.reload()
        assert gateway.settings is before
        assert (await run(gateway, "write_file")).success


async def test_given_settings_are_not_reloaded_from_anywhere() -> None:
    async with counter(files()) as gateway:
        assert await gateway.reload() is gateway.settings


# -- leaving


async def test_everything_is_stopped_when_the_block_ends_even_by_an_exception() -> None:
    server = files()
    before = asyncio.all_tasks()

    async def work() -> None:
        async with counter(server) as gateway:
            await run(gateway, "write_file")
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        await work()

    assert server.open_links == []
    assert asyncio.all_tasks() == before
    catalog = SqliteCatalog(Paths.of(os.environ).catalog)
    assert catalog.gateways() == []
    catalog.close()


async def test_leaving_while_servers_start_and_calls_run_ends_them_all() -> None:
    hung, busy = FakeServer("hung", on_open=_hang), files(tools={"write_file": lambda _: _forever()})
    before = asyncio.all_tasks()

    async with counter(hung, busy) as gateway:
        call = asyncio.create_task(run(gateway, "write_file"))
        waiting = asyncio.create_task(gateway.execute_tool("hung", "x"))
        await eventually(lambda: busy.running)

    codes = [outcome.error.code for outcome in await asyncio.gather(call, waiting)]
    assert codes[0] == "SERVER_CONNECTION_ERROR"
    assert codes[1] in ("SERVER_CONNECTION_ERROR", "TOOL_NOT_FOUND")
    assert asyncio.all_tasks() == before


async def test_a_configuration_that_can_not_be_used_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("discovery: 5", encoding="utf-8")
    before = asyncio.all_tasks()

    with pytest.raises(ConfigurationError):
        async with open_gateway(path):
            pass

    assert asyncio.all_tasks() == before
    assert not Paths.of(os.environ).catalog.exists()


async def test_a_read_only_state_folder_does_not_stop_the_gateway(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    env = {**os.environ, "TOOLCRIB_HOME": str(blocked / "inside")}
    settings = Settings(servers=(spec("files"),))

    async with open_gateway(settings=settings, env=env, opener=FakeServers(files())) as gateway:
        assert (await run(gateway, "write_file")).success
        assert (await gateway.search_tools("read_file")).hits[0].tool == "read_file"


async def test_three_gateways_share_one_catalog() -> None:
    servers = [files() for _ in range(3)]
    settings = Settings(servers=(spec("files"),))

    async with (
        asyncio.timeout(30),
        open_gateway(settings=settings, opener=FakeServers(servers[0])) as first,
        open_gateway(settings=settings, opener=FakeServers(servers[1])) as second,
        open_gateway(settings=settings, opener=FakeServers(servers[2])) as third,
    ):
        for gateway in (first, second, third):
            assert len(await gateway.list_tools("files")) == 3

    assert sum(server.count("tools/list") for server in servers) == 1


async def test_a_failing_server_does_not_keep_a_gateway_from_the_others() -> None:
    async def refuse() -> None:
        raise ServerConnectionError("no such file", server="broken")

    async with counter(FakeServer("broken", on_open=refuse), files()) as gateway:
        assert (await gateway.search_tools("read_file")).hits[0].tool == "read_file"
        assert (await run(gateway, "write_file")).success


async def test_a_server_switched_off_in_its_entry_is_not_behind_the_counter() -> None:
    async with counter(files(), servers=(replace(spec("files"), enabled=False),)) as gateway:
        assert await gateway.list_servers() == []
        assert not gateway.knows("files")


# -- many servers, dead servers, old servers, servers of several sources


async def test_a_hundred_servers_with_a_thousand_tools_are_listed_and_searched() -> None:
    servers = [
        FakeServer(f"shop-{number}", [tool(f"pack_box_{number}_{size}") for size in range(11)]) for number in range(100)
    ]

    async with read_counter(*servers) as gateway:
        assert sum(server.tool_count for server in await gateway.list_servers()) == 1_100
        assert (await gateway.search_tools("pack box 77 3")).hits[0].tool == "pack_box_77_3"


async def test_a_server_that_can_not_be_reached_is_logged_and_marked_and_the_others_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = FakeServer("files", [tool("read_file")])
    settings = Settings(servers=(spec("gone"), spec("files")))

    async with asyncio.timeout(30), open_gateway(settings=settings, opener=FakeServers(files)) as gateway:
        failed = await gateway.execute_tool("gone", "anything")
        assert (failed.error.code, failed.error.server) == ("SERVER_CONNECTION_ERROR", "gone")
        assert (await gateway.execute_tool("files", "read_file")).success
        states = {server.name: server.status.state for server in await gateway.list_servers()}

    assert states == {"gone": "error", "files": "connected"}
    assert "gone: the command 'gone' was not found" in caplog.text


async def test_the_newest_revision_is_offered_first_and_the_newest_handshake_after_it() -> None:
    old = FakeServer("old", [tool("read")], era="legacy")

    async with read_counter(old):
        offered = dict(old.heard)

    assert offered["server/discover"]["_meta"][PROTOCOL_VERSION_META_KEY] == LATEST_MODERN_VERSION
    assert offered["initialize"]["protocolVersion"] == LATEST_HANDSHAKE_VERSION


async def test_tools_of_three_sources_are_merged_and_filtered(tmp_path: Path) -> None:
    docker, claude, own = tmp_path / "docker.json", tmp_path / "claude.json", tmp_path / "own.yaml"
    docker.write_text('{"mcpServers": {"github": {"command": "docker"}}}', encoding="utf-8")
    claude.write_text('{"mcpServers": {"files": {"command": "files-mcp"}}}', encoding="utf-8")
    own.write_text("servers: {shop: {connection: {type: stdio, command: shop-mcp}}}", encoding="utf-8")
    sources = {"docker-mcp": docker, "claude-desktop": claude, "custom": own}
    rules = [{"pattern": ["*"], "enabled": True}, {"pattern": ["*delete*", "/^destroy_/i"], "enabled": False}]
    listed = [{"type": kind, "path": str(file)} for kind, file in sources.items()]
    config = tmp_path / "given.json"
    config.write_text(json.dumps({"discovery": {"sources": listed, "toolRules": rules}}), encoding="utf-8")
    names = ("list_all", "delete_one", "Destroy_everything")
    behind = FakeServers(*(FakeServer(name, [tool(one) for one in names]) for name in ("github", "files", "shop")))

    async with asyncio.timeout(30), open_gateway(config, opener=behind) as gateway:
        for server in ("github", "files", "shop"):
            assert [shown.name for shown in await gateway.list_tools(server)] == ["list_all"]
            assert (await gateway.execute_tool(server, "delete_one")).error.code == "TOOL_DISABLED"
        found = await gateway.search_tools("delete or destroy everything", limit=20)

    assert {hit.tool for hit in found} <= {"list_all", "read_result", "get_schema"}
