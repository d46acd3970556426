"""What the gateway says to lines that are right, wrong, or too many at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.journeys.stdio_gateway import ERAS, HELLO, MODES, Workshop, execution, run

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def refusal(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["error"]["code"], answer["error"]["message"]


async def test_broken_json_is_answered_and_the_connection_lives_on(workshop: Workshop):
    workshop.configure({})

    async with workshop.lines() as client:
        client.send(b'{"jsonrpc": "2.0", "id": 1, "method": ')
        assert refusal(await client.answer(None))[0] == PARSE_ERROR
        await client.initialize()
        client.send(b"no json at all", b"\xff\xfe", b"{" * 100_000)
        listed = await client.ask(2, "tools/list")

        assert len(listed["result"]["tools"]) == 5
        assert [refusal(m)[0] for m in client.messages if "error" in m] == [PARSE_ERROR] * 4


async def test_a_sixth_tool_is_listed_where_it_is_wanted(workshop: Workshop):
    workshop.configure({}, readOnlyTool=True)

    async with workshop.lines() as client:
        await client.initialize()
        listed = await client.ask(2, "tools/list")

    assert [tool["name"] for tool in listed["result"]["tools"]][-1] == "execute_read_only"


async def test_a_line_that_is_too_long_is_answered_and_the_connection_lives_on(workshop: Workshop):
    workshop.configure({}, maxStdioLineBytes=2000)

    async with workshop.lines() as client:
        await client.initialize()
        client.send(execution(1, "any", "tool", text="x" * 3000))
        assert refusal(await client.answer(None))[0] == PARSE_ERROR
        assert "servers" in (await client.call(2, "list_mcp_servers"))["result"]["content"][0]["text"]


async def test_a_request_that_is_none_is_refused_by_its_id(workshop: Workshop):
    workshop.configure({})
    lines = [
        b'{"jsonrpc":"2.0","id":0}',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":3,"method":12}',
        b'{"jsonrpc":"2.0","id":4,"method":"ping","params":"text"}',
    ]

    async with workshop.lines() as client:
        for number, line in enumerate(lines):
            client.send(line)
            assert refusal(await client.answer(number))[0] == INVALID_REQUEST
        assert "result" in await client.initialize()


async def test_each_kind_of_mistake_has_its_code_in_the_handshake_era(workshop: Workshop):
    workshop.configure({})

    async with workshop.lines() as client:
        await client.initialize()
        client.send(b"[]")
        assert refusal(await client.answer(None))[0] == INVALID_REQUEST
        assert refusal(await client.ask(1, "tools/juggle"))[0] == METHOD_NOT_FOUND
        code, message = refusal(await client.call(2, "serch_tools", query="x"))
        assert code == METHOD_NOT_FOUND
        assert "Did you mean search_tools?" in message
        await assert_bad_parameters_are_refused(client.ask)


async def test_each_kind_of_mistake_has_its_code_in_the_stateless_era(workshop: Workshop):
    workshop.configure({})

    async with workshop.lines() as client:

        async def ask(id: int, method: str, **params: Any) -> dict[str, Any]:
            return await client.ask(id, method, **params, _meta=MODERN_META)

        assert len((await ask(0, "tools/list"))["result"]["tools"]) == 5
        assert refusal(await ask(1, "tools/juggle"))[0] == METHOD_NOT_FOUND
        assert refusal(await ask(2, "tools/call", name="serch_tools", arguments={}))[0] == METHOD_NOT_FOUND
        await assert_bad_parameters_are_refused(ask)


async def assert_bad_parameters_are_refused(ask: Any) -> None:
    wrong: list[tuple[str, Any]] = [
        ("search_tools", {}),
        ("search_tools", {"query": 5}),
        ("search_tools", {"query": "  "}),
        ("search_tools", {"query": "x", "limit": 0}),
        ("search_tools", {"query": "x", "colour": "red"}),
        ("search_tools", {"query": "x" * 5000}),
        ("list_tools", {}),
        ("get_tool_details", {"server": "x"}),
        ("execute_tool", {"server": "x"}),
        ("execute_tool", {"server": "x", "tool": "y", "arguments": [1]}),
        ("execute_tool", {"server": "x", "tool": "y", "arguments": "not json"}),
        ("list_mcp_servers", []),
    ]
    for number, (name, arguments) in enumerate(wrong, 100):
        answer = await ask(number, "tools/call", name=name, arguments=arguments)
        assert refusal(answer)[0] == INVALID_PARAMS, (name, arguments)
    assert refusal(await ask(98, "tools/call", arguments={}))[0] == INVALID_PARAMS
    assert refusal(await ask(99, "tools/call", name=7, arguments={}))[0] == INVALID_PARAMS


@pytest.mark.parametrize("meta", [{}, MODERN_META])
async def test_a_call_without_an_id_does_not_run_the_tool_and_a_null_is_no_id(workshop: Workshop, meta: Any):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted})
    call = {key: value for key, value in execution(0, "scripted", "echo", text="ran").items() if key != "id"}
    call["params"]["_meta"] = meta

    async with workshop.lines() as client:
        if meta:
            await client.ask("hello", "tools/list", _meta=meta)
        else:
            await client.initialize()
        client.send(call, {**call, "id": None})
        assert refusal(await client.answer(None))[0] == INVALID_REQUEST
        assert "result" in await client.ask(1, "tools/call", **{**call["params"], "_meta": meta})
        assert await client.leave() == 0

    assert len(scripted.received("tools/call")) == 1


async def test_a_client_may_ping_first_and_leave_arguments_out(workshop: Workshop):
    workshop.configure({})

    async with workshop.lines() as client:
        assert (await client.ask(1, "ping"))["result"] == {}
        await client.initialize()
        client.send({"method": "notifications/unheard-of"}, {"id": 99, "result": {}})
        without = await client.ask(2, "tools/call", name="list_mcp_servers")
        null = await client.ask(3, "tools/call", name="list_mcp_servers", arguments=None)

    assert without["result"] == null["result"]
    assert json.loads(null["result"]["content"][0]["text"])["servers"] == []


async def test_a_client_that_asks_in_a_revision_of_the_future_is_told_which_ones_there_are(workshop: Workshop):
    workshop.configure({})
    future = {**MODERN_META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}

    async with workshop.lines() as client:
        refused = await client.ask(1, "server/discover", _meta=future)
        assert "2026-07-28" in refused["error"]["data"]["supported"]
        discovered = await client.ask(2, "server/discover", _meta=MODERN_META)
        assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
        called = await client.ask(3, "tools/call", name="list_mcp_servers", arguments={}, _meta=MODERN_META)
        assert called["result"]["resultType"] == "complete"


async def test_arguments_given_as_a_json_string_are_taken(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")})
    asked = {"server": "", "tool": "scripted:echo", "arguments": '{"text": "from a string"}'}

    async with workshop.lines() as client:
        await client.initialize()
        answer = await client.call(1, "execute_tool", **asked)

    assert answer["result"]["content"] == [{"type": "text", "text": "from a string"}]


@pytest.mark.parametrize("mode", MODES)
async def test_two_hundred_calls_at_once_are_each_answered_with_their_own_result(workshop: Workshop, mode: str):
    workshop.configure(workshop.both_eras())

    async with workshop.client(mode) as client:
        calls = [run(client, ERAS[number % 2], "echo", text=f"number {number}") for number in range(200)]
        assert await asyncio.gather(*calls) == [f"number {number}" for number in range(200)]


async def test_two_hundred_calls_in_one_write_are_each_answered_exactly_once(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")})

    async with workshop.lines() as client:
        # All of it before the client has heard of the handshake.
        client.send(*HELLO, *(execution(number, "scripted", "echo", text=str(number)) for number in range(200)))
        for number in range(200):
            answer = await client.answer(number)
            assert answer["result"]["content"][0]["text"] == str(number)
        assert await client.leave() == 0

    answered = [message["id"] for message in client.messages]
    assert sorted(answered, key=str) == sorted(["hello", *range(200)], key=str)


async def test_an_id_that_is_used_twice_at_once_is_not_mixed_up(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")})

    async with workshop.lines() as client:
        await client.initialize()
        assert (await client.execute(1, "scripted", "echo", text="warm"))["content"]
        client.send(execution(5, "scripted", "hang"), execution(5, "scripted", "echo", text="second"))
        answer = await client.answer(5)

    assert answer["result"]["content"][0]["text"] == "second"


async def test_stray_output_of_a_server_reaches_nobody(workshop: Workshop):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted})

    async with workshop.lines() as client:
        await client.initialize()
        assert (await client.execute(1, "scripted", "noise"))["content"][0]["text"] == "quiet again"
        assert (await client.execute(2, "scripted", "echo", text="still here"))["content"][0]["text"] == "still here"
        assert await client.leave() == 0

    assert [message["id"] for message in client.messages] == ["hello", 1, 2]
    assert (workshop.home / "logs" / "scripted.log").read_text() == "a complaint\n"


PRINTING_GATEWAY = """
import os, sys
from toolcrib.cli import serve
from toolcrib.server.meta_tools import MetaTools

answer = MetaTools.call

async def chatty(self, name, arguments, request):
    print("a library says hello")
    os.write(1, b"so does a C extension\\n")
    for _ in range(20):  # a crowded machine may have no room for one more process at this moment
        if os.system("echo and a program it started") == 0:
            break
    return await answer(self, name, arguments, request)

MetaTools.call = chatty
from toolcrib.cli.main import main
sys.exit(main())
"""


async def test_what_a_library_prints_goes_to_standard_error(workshop: Workshop):
    workshop.configure({})
    command = [workshop.command[0], "-c", PRINTING_GATEWAY, *workshop.command[3:]]

    async with workshop.lines(*command) as client:
        await client.initialize()
        answer = await client.call(1, "list_mcp_servers")
        assert json.loads(answer["result"]["content"][0]["text"])["servers"] == []
        assert await client.leave() == 0

    assert [message["id"] for message in client.messages] == ["hello", 1]
    for words in ("a library says hello", "so does a C extension", "and a program it started"):
        assert words in workshop.complaints
