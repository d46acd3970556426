"""An entry that names an address and no transport reaches the server whichever of the two it speaks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.journeys.http_gateway import write_config
from tests.upstream.http_servers import Out, Script, SdkServer, Seen, serve
from toolcrib import open_gateway


@pytest.mark.parametrize(
    ("transport", "path"), [("sse", "/sse"), ("sse", "/events"), ("http", "/mcp"), ("http", "/sse"), ("http", "/sse/")]
)
async def test_the_transport_is_found_where_the_entry_names_none(tmp_path: Path, transport: str, path: str) -> None:
    server = SdkServer()
    app = server.sse_app(path) if transport == "sse" else server.streamable_app(streamable_http_path=path)

    async with asyncio.timeout(30), serve(app) as base:
        config = write_config(tmp_path, {"remote": {"url": f"{base}{path}"}})
        async with open_gateway(config) as gateway:
            assert [tool.name for tool in await gateway.list_tools("remote")] == ["echo", "noisy", "slow"]
            outcome = await gateway.execute_tool("remote", "echo", {"a": 1})

    assert outcome.value == {"a": 1}


async def test_a_stated_transport_is_the_only_one_that_is_tried(tmp_path: Path) -> None:
    async with asyncio.timeout(30), serve(SdkServer().sse_app()) as base:
        config = write_config(tmp_path, {"remote": {"type": "http", "url": f"{base}/sse"}})
        async with open_gateway(config) as gateway:
            assert await gateway.list_tools("remote") == []
            (listed,) = await gateway.list_servers()

    assert (listed.status.state, "405" in listed.status.reason) == ("error", True)


async def test_where_neither_transport_works_the_likelier_one_says_why(tmp_path: Path) -> None:
    async def refuse(_: Seen, out: Out) -> None:
        await out.send(404, b"nothing here")

    script = Script(refuse)
    async with asyncio.timeout(30), serve(script) as base:
        config = write_config(tmp_path, {"remote": {"url": f"{base}/mcp"}})
        async with open_gateway(config) as gateway:
            assert await gateway.list_tools("remote") == []
            (listed,) = await gateway.list_servers()

    assert "the handshake was refused" in listed.status.reason
    assert {seen.method for seen in script.seen} == {"POST", "GET"}
