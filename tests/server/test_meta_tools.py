"""The five tools as a client calls them, over the real gateway with servers in memory."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.fakes import FakeServer, FakeServers, spec, text, tool
from tests.server.agent_tokens import compact, count
from toolcrib import Settings, open_gateway
from toolcrib.errors import StoreUnavailable
from toolcrib.model.call import CallEvent, Progress
from toolcrib.model.caller import Caller
from toolcrib.model.tool_rule import ToolRule
from toolcrib.server.definitions import META_TOOL_NAMES
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.requests import Request
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

AGENT = Request(Caller("agent", "stdio", "stdio:agent"))
READ = tool(
    "read_file",
    "Read the content of a file.",
    inputSchema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def files(**more: Any) -> FakeServer:
    return FakeServer("files", [READ, tool("write_file", "Write a file."), tool("delete_file")], **more)


class Client:
    """Calls meta-tools and opens their answers."""

    def __init__(self, meta_tools: MetaTools) -> None:
        self.meta_tools = meta_tools

    async def raw(self, name: str, arguments: Any = None, request: Request = AGENT) -> dict[str, Any]:
        """The members of the answer; `arguments` as a value or as the JSON text itself."""
        encoded = arguments if isinstance(arguments, bytes) else json.dumps(arguments or {}).encode()
        members = await self.meta_tools.call(name, encoded, request)
        return {member: json.loads(bytes(value)) for member, value in members.items()}

    async def ask(self, name: str, **arguments: Any) -> Any:
        return json.loads((await self.raw(name, arguments))["content"][0]["text"])

    async def run(self, tool_name: str, arguments: Any = None) -> Any:
        return await self.ask("execute_tool", server="files", tool=tool_name, arguments=arguments or {})

    async def refusal(self, name: str, arguments: Any = None) -> RpcError:
        with pytest.raises(RpcError) as caught:
            await self.raw(name, arguments)
        return caught.value


@asynccontextmanager
async def client(*servers: FakeServer, **settings: Any) -> AsyncIterator[Client]:
    behind = servers or (files(),)
    specs = settings.pop("servers", tuple(spec(server.name) for server in behind))
    configured = Settings(servers=specs, **settings)
    async with asyncio.timeout(30), open_gateway(settings=configured, opener=FakeServers(*behind)) as gateway:
        for entry in specs:
            await gateway.list_tools(entry.name)
        yield Client(MetaTools(gateway))


# -- the four that look


async def test_servers_are_listed() -> None:
    async with client() as agent:
        assert await agent.ask("list_mcp_servers") == {
            "servers": [
                {
                    "name": "files",
                    "description": "MCP server: files",
                    "toolCount": 3,
                    "enabledCount": 3,
                    "status": "connected",
                }
            ]
        }


async def test_many_servers_are_listed_with_the_way_to_the_rest() -> None:
    async with client(servers=tuple(spec(f"s{number}") for number in range(60))) as agent:
        answer = await agent.ask("list_mcp_servers")
        rest = {"server": "toolcrib", "tool": "list_more", "arguments": {"offset": len(answer["servers"])}}
        page = json.loads((await agent.raw("execute_tool", rest))["content"][0]["text"])["result"]

    shown = answer["servers"][0]
    assert (shown["name"], shown["status"]) == ("s0", "error")
    assert "was not found" in shown["reason"]
    assert answer["note"]
    assert page["servers"][0]["name"] == f"s{len(answer['servers'])}"


async def test_a_switched_off_counter_says_so_at_every_turn() -> None:
    async with client(enabled=False) as agent:
        assert "discovery.enabled: false" in (await agent.ask("list_mcp_servers"))["note"]
        assert "discovery.enabled: false" in (await agent.ask("search_tools", query="read"))["note"]
        assert (await agent.run("read_file"))["error"]["code"] == "SERVER_NOT_FOUND"


async def test_a_search_gives_hits_and_honours_limit_and_server() -> None:
    async with client(files(), FakeServer("web", [tool("read_page", "Read a web page.")])) as agent:
        hit = (await agent.ask("search_tools", query="read_file"))["results"][0]
        assert hit == {
            "server": "files",
            "tool": "read_file",
            "summary": "Read the content of a file.",
            "relevance": 1.0,
        }
        assert len((await agent.ask("search_tools", query="file", limit=1))["results"]) == 1
        assert len((await agent.ask("search_tools", query="file", limit="1"))["results"]) == 1
        on_web = await agent.ask("search_tools", query="read", server="web")
        assert {found["server"] for found in on_web["results"]} == {"web"}


async def test_a_search_with_a_note_stays_within_the_budget_of_a_search() -> None:
    many = FakeServer("files", [tool(f"find_thing_{number}", "Find a thing of some kind here") for number in range(40)])

    async with client(many, servers=(spec("files"), *(spec(f"broken-{number}") for number in range(9)))) as agent:
        answer = await agent.ask("search_tools", query="find a thing")

    assert "and 4 more" in answer["note"]
    assert len(answer["results"]) >= 3
    assert count(compact(answer)) <= 200


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": 5},
        {"query": None},
        {"query": "x" * 5000},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": -1},
        {"query": "x", "limit": 2.5},
        {"query": "x", "limit": "many"},
        {"query": "x", "server": 5},
        {"query": "x", "unknown": 1},
    ],
)
async def test_a_search_that_does_not_fit_its_contract_is_refused(arguments: dict[str, Any]) -> None:
    async with client() as agent:
        refused = await agent.refusal("search_tools", arguments)

    assert refused.code == INVALID_PARAMS
    assert refused.message.startswith("search_tools: ")


async def test_tools_of_a_server_are_listed() -> None:
    rule = ToolRule(("delete*",), enabled=False, tags=("dangerous",))

    async with client(tool_rules=(rule,)) as agent:
        assert [found["name"] for found in (await agent.ask("list_tools", server="files"))["tools"]] == [
            "read_file",
            "write_file",
        ]
        everything = await agent.ask("list_tools", server="files", includeDisabled=True)
        assert everything["tools"][2] == {
            "name": "delete_file",
            "summary": "Does delete_file.",
            "enabled": False,
            "tags": ["dangerous"],
        }
        assert len((await agent.ask("list_tools", server="files", includeDisabled=None))["tools"]) == 2


async def test_many_tools_are_listed_to_the_last_one() -> None:
    names = [f"find_a_thing_of_kind_{number}" for number in range(98)]

    async with client(
        FakeServer("files", [tool(name, "Find a thing of this kind for me.") for name in names])
    ) as agent:
        answer = await agent.ask("list_tools", server="files")
        read, offset = [listed["name"] for listed in answer["tools"]], len(answer["tools"])
        while offset is not None:
            asked = {"server": "toolcrib", "tool": "list_more", "arguments": {"server": "files", "offset": offset}}
            page = json.loads((await agent.raw("execute_tool", asked))["content"][0]["text"])["result"]
            read += [listed["name"] for listed in page["tools"]]
            offset = page.get("next")
        refused = await agent.ask("execute_tool", server="toolcrib", tool="list_more", arguments={"server": "nobody"})

    assert answer["tools"][0] == {"name": names[0], "summary": "Find a thing of this kind for me."}
    assert read == names
    assert refused["error"]["code"] == "SERVER_NOT_FOUND"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_mcp_servers", {}),
        ("search_tools", {"query": "read a file"}),
        ("list_tools", {"server": "files"}),
        ("get_tool_details", {"server": "files", "tool": "read_file"}),
        ("execute_tool", {"server": "files", "tool": "read_file", "arguments": {}}),
    ],
)
async def test_without_any_server_every_answer_says_what_a_person_can_do(name: str, arguments: dict[str, Any]) -> None:
    async with client(servers=()) as agent:
        answer = await agent.ask(name, **arguments)

    assert "toolcrib adopt" in answer.get("note", answer.get("error", {}).get("hint"))


async def test_a_search_names_the_servers_that_could_not_be_read() -> None:
    async with client(files(), servers=(spec("files"), spec("tracker"), spec("mail"))) as agent:
        answer = await agent.ask("search_tools", query="create a ticket")
        fitting = await agent.ask("search_tools", query="read_file")
        there = await agent.ask("search_tools", query="read_file", server="files")
        broken = await agent.ask("search_tools", query="ticket", server="tracker")

    assert "could not be read: tracker, mail. list_mcp_servers says why." in answer["note"]
    assert "tracker, mail" in fitting["note"]
    assert "note" not in there
    assert "could not be read: tracker." in broken["note"]


async def test_a_server_that_can_not_be_read_has_no_tools_and_says_why() -> None:
    async with client(servers=(spec("gone"),)) as agent:
        answer = await agent.ask("list_tools", server="gone")
        details = await agent.ask("get_tool_details", server="gone", tool="x")

    assert answer["tools"] == []
    assert "was not found" in answer["note"]
    assert details["error"]["code"] == "SERVER_CONNECTION_ERROR"


async def test_details_say_when_arguments_can_not_be_checked() -> None:
    outside = {"type": "object", "properties": {"q": {"$ref": "https://example.com/q.json"}}}
    async with client(FakeServer("files", [tool("find", inputSchema=outside)])) as agent:
        details = await agent.ask("get_tool_details", server="files", tool="find")

    assert "'https://example.com/q.json'" in details["notChecked"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_tools", {"query": "read", "server": "fiels"}),
        ("list_tools", {"server": "fiels"}),
        ("get_tool_details", {"server": "fiels", "tool": "read_file"}),
        ("execute_tool", {"server": "fiels", "tool": "read_file", "arguments": {}}),
    ],
)
async def test_an_unknown_server_is_an_error_body_with_suggestions(name: str, arguments: dict[str, Any]) -> None:
    async with client() as agent:
        answer = await agent.raw(name, arguments)

    body = json.loads(answer["content"][0]["text"])
    assert answer["isError"] is True
    assert (body["success"], body["error"]["code"]) == (False, "SERVER_NOT_FOUND")
    assert body["error"]["nearest"] == ["files"]
    assert body["error"]["hint"]


@pytest.mark.parametrize("name", ["get_tool_details", "execute_tool"])
async def test_a_disabled_tool_is_refused_wherever_it_is_named(name: str) -> None:
    async with client(tool_rules=(ToolRule(("*delete*",), enabled=False),)) as agent:
        error = (await agent.ask(name, server="files", tool="delete_file"))["error"]

    assert error["code"] == "TOOL_DISABLED"


@pytest.mark.parametrize("name", ["get_tool_details", "execute_tool"])
async def test_an_unknown_tool_is_an_error_body_with_suggestions(name: str) -> None:
    async with client() as agent:
        arguments = {"server": "files", "tool": "raed_file"}
        error = (await agent.ask(name, **arguments))["error"]

    assert (error["code"], error["server"], error["tool"]) == ("TOOL_NOT_FOUND", "files", "raed_file")
    assert error["nearest"][0] == "read_file"
    assert error["available"] == ["delete_file", "read_file", "write_file"]


async def test_details_are_given_also_for_a_tool_named_with_its_server() -> None:
    async with client() as agent:
        details = await agent.ask("get_tool_details", server="files", tool="read_file")
        assert details == await agent.ask("get_tool_details", server="files", tool="files:read_file")

    assert details == {
        "server": "files",
        "tool": "read_file",
        "description": "Read the content of a file.",
        "parameters": [{"name": "path", "type": "string", "required": True}],
    }


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_mcp_servers", {"verbose": True}),
        ("list_tools", {}),
        ("list_tools", {"server": 5}),
        ("list_tools", {"server": "files", "include_disabled": True}),
        ("get_tool_details", {"server": "files"}),
        ("get_tool_details", {"server": "files", "tool": None}),
        ("execute_tool", {"server": "files"}),
        ("execute_tool", {"server": ["files"], "tool": "read_file"}),
        ("execute_tool", {"server": "files", "tool": "read_file", "pth": "/x"}),
        ("execute_tool", {"server": "files", "tool": "read_file", "path": "/x", "arguments": {"path": "/y"}}),
        ("execute_tool", {"server": "files", "tool": "write_file", "path": "/x"}),
        ("execute_tool", {"tool": "read_file", "path": "/x"}),
        ("execute_tool", b"[]"),
        ("execute_tool", b"{"),
        ("execute_tool", b"[" * 100_000),
        ("list_mcp_servers", b'"x"'),
    ],
)
async def test_parameters_that_do_not_fit_are_refused_with_the_tools_name(name: str, arguments: Any) -> None:
    async with client() as agent:
        refused = await agent.refusal(name, arguments)

    assert refused.code == INVALID_PARAMS
    assert refused.message.startswith(f"{name}: ")


@pytest.mark.parametrize(("name", "meant"), [("search_tool", "search_tools"), ("read_file", ""), ("", "")])
async def test_an_unknown_meta_tool_is_refused_with_the_five_names(name: str, meant: str) -> None:
    async with client() as agent:
        refused = await agent.refusal(name)

    assert refused.code == METHOD_NOT_FOUND
    assert all(known in refused.message for known in META_TOOL_NAMES)
    assert (f"Did you mean {meant}?" in refused.message) is bool(meant)


# -- execute_tool


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (b'{"server":"files","tool":"write_file","arguments":{"n": 1.10}}', {"n": 1.10}),
        (b'{"server":"files","tool":"write_file","arguments":"{\\"n\\": 1}"}', {"n": 1}),
        (b'{"server":"files","tool":"write_file","arguments":""}', {}),
        (b'{"server":"files","tool":"write_file","arguments":" {} "}', {}),
        (b'{"server":"files","tool":"write_file","arguments":"null"}', {}),
        (b'{"server":"files","tool":"write_file","arguments":null}', {}),
        (b'{"server":"files","tool":"write_file"}', {}),
        (b'{"server":"files","tool":"files:write_file","arguments":{}}', {}),
    ],
)
async def test_arguments_are_taken_in_every_shape_agents_give_them(arguments: bytes, sent: dict[str, Any]) -> None:
    server = files()

    async with client(server) as agent:
        await agent.raw("execute_tool", arguments)

    assert server.calls == [("write_file", sent)]


@pytest.mark.parametrize("arguments", ["5", "[]", '"words"', '"[1]"', '"{"', "true", "{" + '"a":[' * 100_000])
async def test_arguments_that_are_no_object_are_refused_and_never_dropped(arguments: str) -> None:
    server = files()

    async with client(server) as agent:
        given = b'{"server":"files","tool":"write_file","arguments":%b}' % arguments.encode()
        assert (await agent.refusal("execute_tool", given)).code == INVALID_PARAMS

    assert server.calls == []


async def test_the_callers_own_json_is_what_the_server_gets() -> None:
    raw = b'{"big":123456789012345678901234567890,"n":1.10}'
    server = files()
    seen: list[bytes] = []

    async with client(server) as agent:
        for link in server.open_links:
            forward = link._mux._send

            async def spy(line: bytes, forward: Any = forward) -> None:
                seen.append(line)
                await forward(line)

            link._mux._send = spy
        await agent.raw("execute_tool", b'{"server":"files","tool":"write_file","arguments":%b}' % raw)

    assert b'"arguments":' + raw in seen[0]


@pytest.mark.parametrize(
    "arguments",
    [
        b'{"server":"files","tool":"read_file","path":"/x"}',
        b'{"server":"files","tool":"read_file","arguments":{},"path":"/x"}',
        b'{"server":"files","tool":"read_file","arguments":null,"path":"/x"}',
        b'{"path":"/x","tool":"files:read_file","server":"files"}',
        b'{"server":"files","tool":"read_file","arguments":"{\\n \\"path\\":\\r\\n\\"/x\\"}"}',
    ],
)
async def test_arguments_beside_server_and_tool_are_taken_where_the_tool_knows_them(arguments: bytes) -> None:
    server = files()

    async with client(server) as agent:
        await agent.raw("execute_tool", arguments)

    assert server.calls == [("read_file", {"path": "/x"})]


async def test_arguments_that_can_not_be_told_apart_are_answered_with_how_to_write_them() -> None:
    own = {"type": "object", "properties": {"server": {"type": "string"}, "path": {"type": "string"}}}
    server = FakeServer("files", [READ, tool("copy_file", inputSchema=own)])

    async with client(server) as agent:
        both = await agent.refusal("execute_tool", {"server": "files", "tool": "copy_file", "path": "/x"})
        unknown = await agent.refusal(
            "execute_tool", {"server": "files", "tool": "read_file", "params": {"path": "/x"}}
        )
        nowhere = (await agent.ask("execute_tool", server="files", tool="raed_file", path="/x"))["error"]

    assert '"tool":"copy_file","arguments":{"path":…}' in both.message
    assert "params must be inside arguments" in unknown.message
    assert nowhere["code"] == "TOOL_NOT_FOUND"
    assert server.calls == []


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"count": "3"}, {"count": 3}),
        ({"deep": "true", "count": "07"}, None),
        ({"options": '{\n"depth": "2"}'}, {"options": {"depth": 2}}),
        ({"options": {"depth": "2"}, "note": "3"}, {"options": {"depth": 2}, "note": "3"}),
    ],
)
async def test_a_value_that_was_only_written_as_a_text_is_taken_for_the_value(
    given: dict[str, Any], sent: dict[str, Any] | None
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "deep": {"type": "boolean"},
            "note": {"type": "string"},
            "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
        },
    }
    server = FakeServer("files", [tool("find", inputSchema=schema)])

    async with client(server) as agent:
        answer = await agent.raw("execute_tool", {"server": "files", "tool": "find", "arguments": given})

    assert server.calls == ([] if sent is None else [("find", sent)])
    assert answer.get("isError", False) is (sent is None)


async def test_wrong_arguments_say_which_field_and_why() -> None:
    async with client() as agent:
        error = (await agent.run("read_file", {"path": 5}))["error"]

    assert error["code"] == "TOOL_VALIDATION_ERROR"
    assert "path" in error["message"]
    assert "string" in error["message"]


async def test_a_disabled_tool_is_refused() -> None:
    async with client(tool_rules=(ToolRule(("delete*",), enabled=False),)) as agent:
        assert (await agent.run("delete_file"))["error"]["code"] == "TOOL_DISABLED"
        schema = await agent.ask(
            "execute_tool", server="toolcrib", tool="get_schema", arguments={"server": "files", "tool": "delete_file"}
        )
        assert schema["error"]["code"] == "TOOL_DISABLED"


async def test_the_shape_of_results_is_a_setting() -> None:
    json_text = text('{"n": 1}')

    for shape, expected in {
        "auto": '{"success":true,"result":{"n": 1}}',
        "envelope": '{"success":true,"result":{"n": 1}}',
        "passthrough": '{"n": 1}',
    }.items():
        async with client(files(tools={"write_file": lambda _: json_text}), results=shape) as agent:
            answer = await agent.raw("execute_tool", {"server": "files", "tool": "write_file"})
            assert answer["content"][0]["text"] == expected


async def test_a_failing_tool_is_an_error_body_with_its_structure() -> None:
    failed = {**text("disk full"), "isError": True, "structuredContent": {"errno": 28}}

    async with client(files(tools={"write_file": lambda _: failed})) as agent:
        answer = await agent.raw("execute_tool", {"server": "files", "tool": "write_file"})

    assert json.loads(answer["content"][0]["text"])["error"] == {
        "code": "TOOL_EXECUTION_ERROR",
        "message": "disk full",
        "server": "files",
        "tool": "write_file",
    }
    assert (answer["isError"], answer["structuredContent"]) == (True, {"errno": 28})


async def test_the_structure_of_a_failure_stands_beside_its_words_for_a_client_that_would_show_it_alone() -> None:
    failed = {**text("disk full"), "isError": True, "structuredContent": {"errno": 28}}
    claude = Request(Caller("claude-code", "stdio", "stdio:claude-code"))

    async with client(files(tools={"write_file": lambda _: failed})) as agent:
        answer = await agent.raw("execute_tool", {"server": "files", "tool": "write_file"}, claude)

    body, structure = (json.loads(block["text"]) for block in answer["content"])
    assert (body["error"]["message"], structure) == ("disk full", {"errno": 28})
    assert answer["isError"] is True
    assert "structuredContent" not in answer


async def test_a_large_result_is_read_to_its_end_through_its_handle() -> None:
    large = "\n".join(f"line {number}" for number in range(20_000))

    async with client(files(tools={"write_file": lambda _: text(large)})) as agent:
        preview = await agent.run("write_file")
        assert preview["truncated"]
        assert preview["bytes"] == len(large)
        read = ""
        while len(read) < len(large):
            given = {"handle": preview["handle"], "offset": len(read), "length": 60_000}
            arguments = {"server": "toolcrib", "tool": "read_result", "arguments": given}
            part = (await agent.raw("execute_tool", arguments))["content"][0]["text"]
            read += part[: min(60_000, len(large) - len(read))]
        grep = {
            "server": "toolcrib",
            "tool": "read_result",
            "arguments": {"handle": preview["handle"], "grep": " 19999$"},
        }
        found = (await agent.raw("execute_tool", grep))["content"][0]["text"]

    assert read == large
    assert found == "20000: line 19999"


async def test_what_was_read_of_a_large_result_is_never_shelved_again() -> None:
    async with client(files(tools={"write_file": lambda _: text("é" * 5000)}), max_result_bytes=100) as agent:
        handle = (await agent.run("write_file"))["handle"]
        arguments = {"server": "toolcrib", "tool": "read_result", "arguments": {"handle": handle}}
        answer = await agent.raw("execute_tool", arguments)

    assert answer == text("é" * 5000)


async def test_another_client_can_not_read_it() -> None:
    async with client(files(tools={"write_file": lambda _: text("x" * 100_000)})) as agent:
        handle = (await agent.run("write_file"))["handle"]
        arguments = {"server": "toolcrib", "tool": "read_result", "arguments": {"handle": handle}}
        answer = await agent.raw("execute_tool", arguments, Request(Caller("other", "stdio", "stdio:other")))

    assert json.loads(answer["content"][0]["text"])["error"]["code"] == "RESULT_EXPIRED"


async def test_an_answer_of_ours_that_the_client_would_cut_is_kept_for_it_too() -> None:
    codex = Request(Caller("codex-mcp-client", "stdio", "stdio:codex-mcp-client"))
    many = FakeServer("files", [tool(f"find_thing_{number}", "Find a thing " * 20) for number in range(150)])

    async with client(many) as agent:
        whole = await agent.raw("search_tools", {"query": "find a thing", "limit": 100})
        preview = await agent.raw("search_tools", {"query": "find a thing", "limit": 100}, codex)
        handle = json.loads(preview["content"][0]["text"])["handle"]
        reading = {
            "server": "toolcrib",
            "tool": "read_result",
            "arguments": {"handle": handle, "pointer": "/results/99"},
        }
        last = await agent.raw("execute_tool", reading, codex)

    assert len(json.dumps(whole)) > 10_240 > len(json.dumps(preview))
    assert json.loads(last["content"][0]["text"])["result"] == json.loads(whole["content"][0]["text"])["results"][99]


async def test_a_shelf_that_is_full_lets_the_result_pass_whole(caplog: pytest.LogCaptureFixture) -> None:
    large = "x" * 100_000
    failed = {**text(large), "isError": True}

    async with client(
        files(tools={"write_file": lambda _: text(large), "delete_file": lambda _: failed}), max_stored_result_bytes=1
    ) as agent:
        whole = await agent.raw("execute_tool", {"server": "files", "tool": "write_file"})
        error = (await agent.run("delete_file"))["error"]

    assert whole == text(large)
    assert error["message"] == large
    assert "passed on whole" in caplog.text


async def test_progress_reaches_the_listener_of_the_request() -> None:
    heard: list[CallEvent] = []
    server = files()

    def chat(_: dict[str, Any]) -> dict[str, Any]:
        token = server.heard[-1][1]["_meta"]["progressToken"]
        server.notify("notifications/progress", {"progressToken": token, "progress": 1})
        return text("done")

    server.tools["write_file"] = chat
    async with client(server) as agent:
        arguments = {"server": "files", "tool": "write_file"}
        await agent.raw("execute_tool", arguments, Request(Caller(), heard.append, meta={"progressToken": "mine"}))

    assert heard == [Progress({"progress": 1})]


async def test_the_meta_of_the_caller_is_passed_on_without_what_belongs_to_our_hop() -> None:
    server = files()
    meta = {"trace": "abc", "progressToken": "mine", "io.modelcontextprotocol/clientInfo": {"name": "agent"}}

    async with client(server) as agent:
        arguments = {"server": "files", "tool": "write_file"}
        await agent.raw("execute_tool", arguments, Request(Caller(), None, None, meta))

    sent = server.heard[-1][1]["_meta"]
    assert sent["trace"] == "abc"
    assert sent["progressToken"] != "mine"
    assert sent["io.modelcontextprotocol/clientInfo"]["name"] == "toolcrib"


# -- our own faults


async def test_our_own_fault_is_an_internal_error_without_its_inside(caplog: pytest.LogCaptureFixture) -> None:
    async with client() as agent:

        async def broken(*_: Any, **__: Any) -> Any:
            raise KeyError("a secret inside")

        agent.meta_tools._gateway.execute = broken
        with caplog.at_level(logging.CRITICAL):
            refused = await agent.refusal("execute_tool", {"server": "files", "tool": "write_file"})

    assert refused.code == INTERNAL_ERROR
    assert "secret" not in refused.message


async def test_a_catalog_that_fails_is_an_internal_error_with_its_words() -> None:
    async with client() as agent:

        async def broken(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("the disk is gone")

        agent.meta_tools._gateway.list_servers = broken
        refused = await agent.refusal("list_mcp_servers")

    assert (refused.code, refused.message) == (INTERNAL_ERROR, "list_mcp_servers: the disk is gone")


async def test_nothing_is_written_to_the_working_directory() -> None:
    async with client() as agent:
        await agent.run("write_file")

    assert os.listdir() == []
