"""T12: what two parsers would read differently is refused before anybody acts on it."""

from __future__ import annotations

import json

from tests.fakes import FakeServer
from tests.gateways import read_counter
from tests.journeys.stdio_gateway import Workshop, line_failure

TWICE = (
    b'{"path":"/safe","path":"/etc/passwd"}',
    b'{"path" :"/safe","path":"/etc/passwd"}',
    b'{"path":"/safe","\\u0070ath":"/etc/passwd"}',
    b'{"options":[{"force":false,"note":"a\\":b","force":true}]}',
)

NUMBERS = (b"1" + b"0" * 5_000, b"1e999", b"-1" + b"0" * 5_000, b"NaN", b"Infinity")


async def test_t12_what_two_parsers_would_read_differently_is_refused(workshop: Workshop) -> None:
    files = workshop.scripted("files")
    workshop.configure({"files": files})
    async with workshop.lines() as client:
        await client.initialize()
        assert "isError" not in await client.execute(0, "files", "echo", text="once", more={"text": 'a":b'})
        for number, arguments in enumerate(TWICE, 1):
            asked = (
                b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_tool","arguments":' % number
            )
            client.send(asked + b'{"server":"files","tool":"echo","arguments":%b}}}' % arguments)
            refused = line_failure((await client.answer(number))["result"])
            assert (refused["code"], "twice" in json.dumps(refused)) == ("TOOL_VALIDATION_ERROR", True)
        await client.leave()

    assert len(files.received("tools/call")) == 1


async def test_t12_a_parameter_in_two_spellings_is_refused() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "Mode": {}, "mode": {}}}
    server = FakeServer("files", [{"name": "read", "inputSchema": schema}])
    async with read_counter(server) as gateway:
        for given in ({"path": "/safe", "Path": "/etc/passwd"}, {"PATH": "/etc/passwd", "path": "/safe"}):
            refused = await gateway.execute_tool("files", "read", given)
            assert refused.error is not None
            assert refused.error.code == "TOOL_VALIDATION_ERROR"
        for fine in ({"path": "/a", "Mode": 1, "mode": 2}, {"Path": "/a"}, {"path": "/a", "env": {"A": 1, "a": 2}}):
            assert (await gateway.execute_tool("files", "read", fine)).success
    assert len(server.calls) == 3


async def test_t12_numbers_without_end_cost_a_refusal_and_nothing_else(workshop: Workshop) -> None:
    workshop.configure({"files": workshop.scripted("files")})
    async with workshop.lines() as client:
        await client.initialize()
        for id, number in enumerate(NUMBERS, 1):
            asked = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_tool","arguments":' % id
            client.send(asked + b'{"server":"files","tool":"echo","arguments":{"text":%b}}}}' % number)
            await client.until(lambda most=id: len(client.messages) > most)
            assert (await client.ask(f"ping {id}", "ping"))["result"] == {}
            client.messages.pop()
        assert await client.leave() == 0
