"""The official SDK's server with our five tools in it: the one module that touches its provisional parts.

`tools/call` is answered by a middleware, before the SDK rebuilds models from it, so that results pass unchanged.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params

from toolcrib.model.asking import TASKS_EXTENSION, Conversation, Question, QuestionRefused
from toolcrib.model.call import LogMessage
from toolcrib.model.caller import EVERYTHING, Caller, Rights
from toolcrib.model.nesting import deeper_than
from toolcrib.server.admission import Principal, principal_of
from toolcrib.server.definitions import INPUT_SCHEMAS, TOOLS_TTL_MS
from toolcrib.server.events import Unheard, passes, wanted_level
from toolcrib.server.fixed_answers import CAPABILITIES
from toolcrib.server.http_listening import HttpListening
from toolcrib.server.identity import NAME, TITLE, stamped
from toolcrib.server.input_rounds import ModernClient
from toolcrib.server.listening_clients import LISTEN, SUBSCRIBE, UNSUBSCRIBE, listen
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.native_methods import NativeMethods
from toolcrib.server.protocol_eras import CALL, capabilities_in
from toolcrib.server.relayed_tasks import TASK_METHODS, TaskQuestion
from toolcrib.server.request_params import RequestParams, read_params
from toolcrib.server.requests import Request
from toolcrib.server.results import Members
from toolcrib.server.sse_face import SESSION_IN_SCOPE
from toolcrib.version import VERSION
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Json, RpcError, error_members
from toolcrib.wire.protocol import MODERN_PROTOCOL_VERSIONS, ROOTS_CHANGED

MOST_LEVELS = 10_000
# The SDK can't write what is nested deeper than 255 levels: it would end the session of an older client without a word.
MOST_NESTED = 200

_HANDSHAKES = frozenset({"initialize", "server/discover"})

Context = ServerRequestContext[Any, Any]


InstructionsFor = Callable[[Rights], str]
"""What the gateway says of itself to a client that may not use everything."""


def build_server(
    meta_tools: MetaTools, *, instructions: str, instructions_for: InstructionsFor | None = None
) -> Server[Any]:
    """A low-level SDK server that serves both protocol eras."""
    levels = SessionLevels()

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in meta_tools.definitions])

    server: Server[Any] = _Server(
        meta_tools.native,
        NAME,
        version=VERSION,
        title=TITLE,
        instructions=instructions,
        cache_hints={"tools/list": CacheHint(TOOLS_TTL_MS, "public"), "server/discover": CacheHint(0, "public")},
        get_tool_input_schema=INPUT_SCHEMAS.get,
        on_list_tools=list_tools,
        on_call_tool=_unreachable_call,
    )
    server.extensions[TASKS_EXTENSION] = {}
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, levels.set)
    for method, params in _NATIVE_PARAMS.items():
        server.add_request_handler(method, params, _answered_before)
    server.middleware.append(_CallMiddleware(meta_tools, levels, instructions_for))
    return server


_NATIVE_PARAMS: Mapping[str, Any] = {
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "completion/complete": types.CompleteRequestParams,
    SUBSCRIBE: types.SubscribeRequestParams,
    UNSUBSCRIBE: types.UnsubscribeRequestParams,
    LISTEN: types.SubscriptionsListenRequestParams,
}


class _Server(Server[Any]):
    """The SDK's server; what it says that it offers is what there is, not what it could answer."""

    def __init__(self, native: NativeMethods, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._native = native

    def get_capabilities(self, *_: Any, **__: Any) -> types.ServerCapabilities:
        return types.ServerCapabilities.model_validate(
            {**CAPABILITIES, **self._native.capabilities(), "extensions": self.extensions}
        )


async def _answered_before(ctx: Context, _: Any) -> Any:
    """Registered so that the SDK knows the method; the middleware answers first, unless the method is off."""
    raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)


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
    """Answers calls, and what is asked about prompts and resources; everything else goes on to the SDK."""

    def __init__(self, meta_tools: MetaTools, levels: SessionLevels, instructions_for: InstructionsFor | None) -> None:
        self._meta_tools = meta_tools
        self._instructions_for = instructions_for
        self._native = meta_tools.native
        self._listening = HttpListening(meta_tools.native)
        self._levels = levels

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        try:
            return await self._answered(ctx, call_next)
        except MCPError as error:
            # Ours and the SDK's alike: they repeat names and addresses that were asked for.
            raise MCPError(**error_members(error.code, error.message, error.data)) from error

    async def _answered(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == ROOTS_CHANGED:
            await self._meta_tools.roots_changed(session_id(ctx))
        if ctx.method in _HANDSHAKES:
            return self._for_rights(await call_next(ctx), self._rights_of(ctx))
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if ctx.method in TASK_METHODS and modern:
            return await self._about_task(ctx)
        is_ours = ctx.method == CALL or ctx.method in self._methods_for(ctx, modern=modern)
        is_request = ctx.request_id is not None  # nobody could be told what came of a call without an id: it is not run
        if not is_ours or not is_request or not (modern or ctx.session.client_params is not None):
            return await call_next(ctx)
        params = ctx.params or {}
        if ctx.method == CALL and not isinstance(params.get("name"), str):
            raise MCPError(INVALID_PARAMS, "tools/call: name must be a string")
        client = None if modern else SessionConversation(ctx)
        try:
            async with hearing(ctx, self._caller_of(ctx), self._levels.get(ctx), modern=modern) as heard:
                asked = replace(
                    heard,
                    conversation=client,
                    modern=_modern_client(params, heard.meta) if modern else None,
                    rights_now=self._rights_by_now(ctx),
                )
                members = await self._answer(ctx, params, asked)
                if client is not None:
                    await client.told()
        except RpcError as error:
            raise MCPError(_http_safe_code(error.code, ctx, modern=modern), error.message, error.data) from error
        return _decoded(stamped(members) if modern else members)

    def _methods_for(self, ctx: Context, *, modern: bool) -> frozenset[str]:
        return self._native.methods("modern" if modern else "legacy", self._rights_of(ctx))

    def _rights_of(self, ctx: Context) -> Rights:
        return self._rights_by_now(ctx)()

    def _rights_by_now(self, ctx: Context) -> Callable[[], Rights]:
        """What the client behind a request may use, whenever that is asked; holds nothing of the request."""
        return partial(self._rights_held, principal_of(ctx.request))

    def _rights_held(self, known: Principal | None) -> Rights:
        profile, own = ("", EVERYTHING) if known is None else (known.profile, known.rights_now())
        return self._meta_tools.rights_of(profile, own)

    def _caller_of(self, ctx: Context) -> Caller:
        return replace(caller_of(ctx), rights=self._rights_of(ctx))

    def _for_rights(self, answer: HandlerResult, rights: Rights) -> HandlerResult:
        """The answer to a handshake for a client that may not use everything: others must not be told the same."""
        if rights is EVERYTHING or self._instructions_for is None or not isinstance(answer, dict):
            return answer
        private = {"cacheScope": "private"} if "cacheScope" in answer else {}
        return {**answer, **self._declared(answer, rights), "instructions": self._instructions_for(rights), **private}

    def _declared(self, answer: Mapping[str, Any], rights: Rights) -> dict[str, Any]:
        """What is offered to all, without what is not there with these rights."""
        everybody, own = self._native.capabilities(), self._native.capabilities(rights)
        given = answer.get("capabilities")
        if everybody == own or not isinstance(given, Mapping):
            return {}
        return {"capabilities": {name: one for name, one in given.items() if name not in everybody} | own}

    async def _about_task(self, ctx: Context) -> HandlerResult:
        params, meta = ctx.params or {}, _meta_of(ctx)
        question = TaskQuestion(ctx.method, params.get("taskId"), _responses_in(params))
        try:
            members = await self._meta_tools.task(question, self._caller_of(ctx), capabilities_in(meta))
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from error
        return _decoded(stamped(members))

    async def _answer(self, ctx: Context, params: Mapping[str, Any], request: Request) -> Members:
        if ctx.method == CALL:
            arguments = params.get("arguments")
            encoded = msgspec.json.encode({} if arguments is None else arguments)
            return await self._meta_tools.call(params["name"], encoded, request)
        given = read_params(msgspec.json.encode(params)) or RequestParams()
        if ctx.method == LISTEN:
            await self._listen(ctx, given, request)
        connection = ctx.session._connection  # noqa: SLF001 - the only way to what outlives the request
        if ctx.method in (SUBSCRIBE, UNSUBSCRIBE):
            return await self._listening.answer(ctx.method, given, connection, request)
        if not request.is_modern:
            self._listening.greet(connection, request)
        return await self._native.answer(ctx.method, given, request)

    async def _listen(self, ctx: Context, params: RequestParams, request: Request) -> NoReturn:
        """Tell on the stream of the request itself, until the client closes it."""
        outbound = ctx.session._request_outbound  # noqa: SLF001 - as in `_pump`

        async def notify(method: str, params: Mapping[str, Any]) -> None:
            await outbound.notify(method, dict(params))

        assert ctx.request_id is not None
        await listen(self._native, params.notifications, ctx.request_id, request, notify)


def _decoded(members: Mapping[str, Json]) -> HandlerResult:
    """An answer as the SDK takes it; raises MCPError for one that it can't write."""
    try:
        answer = {name: msgspec.json.decode(value) for name, value in members.items()}
        is_too_deep = deeper_than(answer, MOST_NESTED)
    except RecursionError:
        is_too_deep = True
    if is_too_deep:
        raise MCPError(
            INTERNAL_ERROR, f"the answer is nested deeper than {MOST_NESTED} levels: it can't be sent over HTTP"
        )
    return answer


def _modern_client(params: Mapping[str, Any], meta: Mapping[str, Any]) -> ModernClient:
    return ModernClient(capabilities_in(meta), _responses_in(params), params.get("requestState"))


def _responses_in(params: Mapping[str, Any]) -> bytes | None:
    responses = params.get("inputResponses")
    return None if responses is None else msgspec.json.encode(responses)


class SessionConversation(Conversation):
    """A client of the handshake era over HTTP, asked on the stream of its own request."""

    knows_url_errors = True

    def __init__(self, ctx: Context) -> None:
        client = ctx.session.client_params
        self._outbound = ctx.session._request_outbound  # noqa: SLF001 - as in `_pump`
        self._beside_requests = ctx.session._connection  # noqa: SLF001 - the only way to the stream of its own
        self._telling: set[asyncio.Future[None]] = set()
        declared = None if client is None else client.capabilities
        self.capabilities = (
            {} if declared is None else declared.model_dump(by_alias=True, exclude_none=True, mode="json")
        )

    @property
    def _channel(self) -> Any:
        return self._outbound if self._outbound.can_send_request else self._beside_requests

    async def ask(self, question: Question) -> bytes:
        params = msgspec.json.decode(question.params)
        if deeper_than(params, MOST_NESTED):
            raise QuestionRefused(INVALID_PARAMS, f"the question is nested deeper than {MOST_NESTED} levels")
        try:
            answer = await self._channel.send_raw_request(question.method, params)
        except MCPError as refusal:
            raise QuestionRefused(refusal.error.code, refusal.error.message) from refusal
        return msgspec.json.encode(answer)

    def tell(self, method: str, params: bytes) -> None:
        telling = asyncio.ensure_future(self._channel.notify(method, msgspec.json.decode(params)))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)

    async def told(self) -> None:
        """Wait until everything was sent, as long as the request's own stream is there."""
        await asyncio.gather(*self._telling, return_exceptions=True)


@asynccontextmanager
async def hearing(ctx: Context, caller: Caller, session_level: str | None, *, modern: bool) -> AsyncIterator[Request]:
    """A request whose events reach the client in order, all of them before the answer."""
    events = Unheard(MOST_NESTED)
    meta = _meta_of(ctx)
    level = wanted_level(meta, session_level, modern=modern)
    pump = asyncio.create_task(_pump(ctx, events, level))
    try:
        yield Request(caller, events.put, level, meta)
        events.end()
        await pump
    finally:
        pump.cancel()


async def _pump(ctx: Context, events: Unheard, level: str | None) -> None:
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
    person = "" if known is None else f"token {known.client}" if known.is_named_token else known.subject
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
