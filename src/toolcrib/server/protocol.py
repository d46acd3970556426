"""The official SDK's server with our five tools in it: the one module that touches its provisional parts.

`tools/call` is answered by a middleware, before the SDK rebuilds models from it, so that results pass unchanged.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params

from toolcrib.model.asking import Conversation, Question, QuestionRefused
from toolcrib.model.call import CallEvent, LogMessage
from toolcrib.model.caller import Caller
from toolcrib.server.admission import principal_of
from toolcrib.server.definitions import INPUT_SCHEMAS, META_TOOLS, TOOLS_TTL_MS
from toolcrib.server.events import passes, wanted_level
from toolcrib.server.identity import NAME, TITLE, stamped
from toolcrib.server.input_rounds import ModernClient
from toolcrib.server.meta_tools import MetaTools, Request
from toolcrib.server.protocol_eras import capabilities_in
from toolcrib.server.sse_face import SESSION_IN_SCOPE
from toolcrib.version import VERSION
from toolcrib.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from toolcrib.wire.protocol import MODERN_PROTOCOL_VERSIONS

MOST_LEVELS = 10_000

Context = ServerRequestContext[Any, Any]


def build_server(meta_tools: MetaTools, *, instructions: str) -> Server[Any]:
    """A low-level SDK server that serves both protocol eras."""
    levels = SessionLevels()
    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        title=TITLE,
        instructions=instructions,
        cache_hints={"tools/list": CacheHint(TOOLS_TTL_MS, "public"), "server/discover": CacheHint(0, "public")},
        get_tool_input_schema=INPUT_SCHEMAS.get,
        on_list_tools=_list_tools,
        on_call_tool=_unreachable_call,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, levels.set)
    server.middleware.append(_CallMiddleware(meta_tools, levels))
    return server


async def _list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in META_TOOLS])


async def _unreachable_call(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Registered so that the SDK lists the method; the middleware answers first."""
    raise MCPError(METHOD_NOT_FOUND, f"unknown tool {params.name!r}")


class SessionLevels:
    """Which log messages each handshake-era session asked for."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, str] = OrderedDict()

    async def set(self, ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._levels[session_id(ctx)] = params.level
        while len(self._levels) > MOST_LEVELS:
            self._levels.popitem(last=False)
        return types.EmptyResult()

    def get(self, ctx: Context) -> str | None:
        return self._levels.get(session_id(ctx))


class _CallMiddleware:
    """Answers tools/call; everything else goes on to the SDK."""

    def __init__(self, meta_tools: MetaTools, levels: SessionLevels) -> None:
        self._meta_tools = meta_tools
        self._levels = levels

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        is_request = ctx.request_id is not None  # nobody could be told what came of a call without an id: it is not run
        if ctx.method != "tools/call" or not is_request or not (modern or ctx.session.client_params is not None):
            return await call_next(ctx)
        params = ctx.params or {}
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise MCPError(INVALID_PARAMS, "tools/call: name must be a string")
        try:
            async with hearing(ctx, caller_of(ctx), self._levels.get(ctx), modern=modern) as heard:
                request = (
                    replace(heard, modern=_modern_client(params, heard.meta))
                    if modern
                    else replace(heard, conversation=SessionConversation(ctx))
                )
                members = await self._meta_tools.call(
                    name, msgspec.json.encode({} if arguments is None else arguments), request
                )
        except RpcError as error:
            raise MCPError(_http_safe_code(error.code, ctx, modern=modern), error.message, error.data) from error
        answer = stamped(members) if modern else members
        return {name: msgspec.json.decode(value) for name, value in answer.items()}


def _modern_client(params: Mapping[str, Any], meta: Mapping[str, Any]) -> ModernClient:
    responses = params.get("inputResponses")
    answers = None if responses is None else msgspec.json.encode(responses)
    return ModernClient(capabilities_in(meta), answers, params.get("requestState"))


class SessionConversation(Conversation):
    """A client of the handshake era over HTTP, asked on the stream of its own request."""

    def __init__(self, ctx: Context) -> None:
        client = ctx.session.client_params
        self._outbound = ctx.session._request_outbound  # noqa: SLF001 - as in `_pump`
        declared = None if client is None else client.capabilities
        self.capabilities = (
            {} if declared is None else declared.model_dump(by_alias=True, exclude_none=True, mode="json")
        )

    async def ask(self, question: Question) -> bytes:
        try:
            answer = await self._outbound.send_raw_request(question.method, msgspec.json.decode(question.params))
        except MCPError as refusal:
            raise QuestionRefused(refusal.error.code, refusal.error.message) from refusal
        return msgspec.json.encode(answer)


@asynccontextmanager
async def hearing(ctx: Context, caller: Caller, session_level: str | None, *, modern: bool) -> AsyncIterator[Request]:
    """A request whose events reach the client in order, all of them before the answer."""
    events: asyncio.Queue[CallEvent | None] = asyncio.Queue()
    meta = _meta_of(ctx)
    level = wanted_level(meta, session_level, modern=modern)
    pump = asyncio.create_task(_pump(ctx, events, level))
    try:
        yield Request(caller, events.put_nowait, level, meta)
        events.put_nowait(None)
        await pump
    finally:
        pump.cancel()


async def _pump(ctx: Context, events: asyncio.Queue[CallEvent | None], level: str | None) -> None:
    """Send events as the server said them; the SDK's own methods rebuild them and refuse what they do not know."""
    token = progress_token_from_params(ctx.params)
    notify = ctx.session._request_outbound.notify  # noqa: SLF001 - the only way to the request's own stream
    while (event := await events.get()) is not None:
        if isinstance(event, LogMessage):
            if passes(event, level):
                await notify("notifications/message", event.params)
        elif token is not None:
            await notify("notifications/progress", {**event.params, "progressToken": token})


def caller_of(ctx: Context) -> Caller:
    """The client behind a request; where all HTTP clients share one token, their names alone tell them apart."""
    client = ctx.session.client_params
    name = client.client_info.name if client is not None else "unknown"
    version = client.client_info.version if client is not None else ""
    face = "http" if ctx.request is not None else "stdio"
    known = principal_of(ctx.request)
    key = f"{face}:{name}" if known is None else f"{face}:{known.issuer}|{known.subject}"
    person = "" if known is None else known.subject
    return Caller(name=name, face=face, key=key, version=version, session=session_id(ctx), person=person)


def _meta_of(ctx: Context) -> Mapping[str, Any]:
    """The caller's `_meta` as it was sent; the SDK's copy renames keys, which would then reach the server."""
    meta = (ctx.params or {}).get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def session_id(ctx: Context) -> str:
    """The session of a request, which the transport has checked; the newest revision has none, whatever a header says."""
    if ctx.request is None:
        return ""
    checked = "" if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else ctx.request.headers.get("mcp-session-id", "")
    return str(ctx.request.scope.get(SESSION_IN_SCOPE) or checked)


def _http_safe_code(code: int, ctx: Context, *, modern: bool) -> int:
    # Modern HTTP turns -32601 into a 404, which would say that the method, not the tool, is unknown.
    return INVALID_PARAMS if code == METHOD_NOT_FOUND and modern and ctx.request is not None else code
