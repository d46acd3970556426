"""The MCP server inside a program: mounted in a web application of one's own, or on the program's pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from tests.journeys.http_gateway import MODES, write_config
from tests.journeys.stdio_gateway import eventually
from tests.upstream.http_servers import serve
from toolcrib import MCPDiscoveryServer, ValidationError, open_gateway
from toolcrib.server.definitions import META_TOOL_NAMES

BOUND_SECONDS = 20.0
PROGRAM = Path(__file__).with_name("programs") / "embedding_program.py"
CLOCK = {"clock": {"command": sys.executable, "args": ["-m", "toolcrib.demo.clock"]}}
ASKED = {"server": "clock", "tool": "days_between", "arguments": {"start": "2026-01-01", "end": "2026-03-01"}}


@asynccontextmanager
async def client_of(url: str, mode: str, token: str | None) -> AsyncIterator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=BOUND_SECONDS) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=BOUND_SECONDS) as client:
            yield client


async def journey(client: Client) -> Any:
    listed = await client.list_tools()
    assert tuple(tool.name for tool in listed.tools) == META_TOOL_NAMES
    answer = await client.call_tool("execute_tool", ASKED)
    assert not answer.is_error
    return answer.structured_content


async def own_page(_: Request) -> PlainTextResponse:
    return PlainTextResponse("the program's own page")


@pytest.mark.parametrize("mode", MODES)
async def test_a_web_application_serves_the_five_tools_beside_its_own_pages(tmp_path: Path, mode: str) -> None:
    async with asyncio.timeout(40), AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(open_gateway(write_config(tmp_path, CLOCK)))
        tools = await stack.enter_async_context(MCPDiscoveryServer(gateway).asgi_app(token="s3same"))
        app = Starlette(routes=[Route("/", own_page), Mount("/tools", tools)])
        address = await stack.enter_async_context(serve(app))
        client = await stack.enter_async_context(client_of(f"{address}/tools/mcp", mode, "s3same"))

        assert await journey(client) == {"result": 59}
        async with httpx2.AsyncClient(timeout=BOUND_SECONDS) as http:
            assert (await http.get(address)).text == "the program's own page"
            assert (await http.post(f"{address}/tools/mcp", json={})).status_code == 401


async def test_the_application_can_also_be_served_by_itself_and_without_a_token(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(40),
        open_gateway(write_config(tmp_path, CLOCK)) as gateway,
        MCPDiscoveryServer(gateway).asgi_app(token=None) as tools,
        serve(tools) as address,
        client_of(f"{address}/mcp", "auto", None) as client,
    ):
        assert await journey(client) == {"result": 59}


async def test_only_the_host_names_that_were_named_are_answered(tmp_path: Path) -> None:
    async with (
        open_gateway(write_config(tmp_path, {})) as gateway,
        MCPDiscoveryServer(gateway).asgi_app(token=None, hosts=["tools.example.com"]) as tools,
        serve(tools) as address,
        httpx2.AsyncClient(timeout=BOUND_SECONDS) as http,
    ):
        answers = [
            (await http.get(f"{address}/health", headers={"host": host})).status_code
            for host in ("tools.example.com", "tools.example.com:8443", "evil.example.com")
        ]
    assert answers == [200, 200, 421]


@pytest.mark.parametrize("token", ["", "  "])
async def test_an_empty_token_is_refused(tmp_path: Path, token: str) -> None:
    async with open_gateway(write_config(tmp_path, {})) as gateway:
        with pytest.raises(ValidationError, match="token is empty"):
            async with MCPDiscoveryServer(gateway).asgi_app(token=token):
                pass


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_program_serves_the_five_tools_on_its_own_pipes(
    tmp_path: Path, process_environment: dict[str, str], mode: str
) -> None:
    config, complaints, afterwards = write_config(tmp_path, CLOCK), tmp_path / "stderr.txt", tmp_path / "afterwards"
    words = [str(PROGRAM), str(config), str(afterwards)]
    program = StdioServerParameters(command=sys.executable, args=words, env=process_environment)
    async with asyncio.timeout(40):
        with complaints.open("w", encoding="utf-8") as errlog:
            transport = stdio_client(program, errlog=errlog)
            async with Client(transport, mode=mode, read_timeout_seconds=BOUND_SECONDS) as client:
                assert await journey(client) == {"result": 59}
        await eventually(afterwards.exists)
    assert complaints.read_text("utf-8") == "a stray word\n"


async def test_serving_on_pipes_ends_when_the_program_says_so(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\nfrom toolcrib import MCPDiscoveryServer, open_gateway\n"
        "async def main():\n"
        "    stop = asyncio.Event()\n"
        "    asyncio.get_running_loop().call_later(0.3, stop.set)\n"
        "    async with open_gateway(sys.argv[1]) as gateway:\n"
        "        await MCPDiscoveryServer(gateway).run_stdio(stop)\n"
        "    print('over')\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, str(write_config(tmp_path, {}))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(BOUND_SECONDS):
        assert process.stdout is not None
        assert await process.stdout.read() == b"over\n"
        assert await process.wait() == 0
