"""Servers reached over Streamable HTTP that ask: one connection for all clients, and each is asked what is theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from tests.journeys.asking import Person
from tests.journeys.http_gateway import connect, gateway_beside, write_config
from tests.journeys.stdio_gateway import ERAS, MODES, execute
from tests.upstream.http_servers import serve

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


class Reception:
    """A server of the SDK with one tool that asks for a name; an old one knows nothing of the newest revision."""

    def __init__(self, era: str) -> None:
        self._era = era
        self.sessions: set[str] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = Server("reception", version="1", on_list_tools=self._list, on_call_tool=self._call)
        self._app = server.streamable_http_app()
        async with serve(self) as address:
            yield f"{address}/mcp"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: Any = self._app
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self.sessions.add(headers.get("mcp-session-id", ""))
            if self._era == "legacy" and headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS:
                error = {"code": -32000, "message": "Bad Request: Unsupported protocol version"}
                app = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)
        await app(scope, receive, send)

    async def _list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="name", input_schema={"type": "object"})])

    async def _call(self, ctx: Any, params: types.CallToolRequestParams) -> Any:
        if self._era == "legacy":
            answer = await ctx.session.elicit_form("Your name?", FORM, related_request_id=ctx.request_id)
        else:
            given = (params.input_responses or {}).get("who")
            if given is None:
                asked = types.ElicitRequestFormParams(message="Your name?", requested_schema=FORM)
                question = types.ElicitRequest(params=asked)
                return types.InputRequiredResult(input_requests={"who": question}, request_state="here")
            assert params.request_state == "here"
            answer = types.ElicitResult.model_validate(given, from_attributes=True)
        return types.CallToolResult(content=[types.TextContent(text=(answer.content or {})["name"])])


@pytest.mark.parametrize("era", ERAS)
async def test_a_question_on_its_own_stream_reaches_the_call_it_belongs_to(
    tmp_path: Path, process_environment: Mapping[str, str], era: str
) -> None:
    people = [Person(name) for name in ("Ann", "Bob", "Cleo", "Dan")]
    reception = Reception(era)

    async with reception.serving() as url, AsyncExitStack() as stack:
        config = write_config(tmp_path, {"reception": {"type": "http", "url": url}})
        gateway = await stack.enter_async_context(gateway_beside(tmp_path, config, process_environment))
        clients = [
            await stack.enter_async_context(connect(gateway, mode, **person.callbacks))
            for person, mode in zip(people, MODES * 2, strict=True)
        ]
        told = await asyncio.gather(*(execute(client, "reception", "name") for client in clients for _ in range(4)))

    texts = [str(getattr(answer.content[0], "text", "")) for answer in told]
    assert texts == [person.name for person in people for _ in range(4)]
    assert [len(person.asked) for person in people] == [4] * 4
    assert len(reception.sessions - {""}) == (1 if era == "legacy" else 0)
