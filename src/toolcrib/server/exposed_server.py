"""What peers get: an MCP server with the exposed tools as they are, and our card as its one resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError

from toolcrib.gateway import Gateway
from toolcrib.model.call import ExecutionResult, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.model.peer import KnownPeer
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.peers.card_resource import CARD_RESOURCE, CARD_URI, NO_OTHER, card_content
from toolcrib.peers.exposure import exposed_definition
from toolcrib.queries.json_forms import failure_json
from toolcrib.server.identity import NAME, STAMP, TITLE, stamped
from toolcrib.server.protocol import Context, hearing
from toolcrib.server.render import text_result
from toolcrib.server.results import Members, shape_result
from toolcrib.version import VERSION
from toolcrib.wire.jsonrpc import INVALID_PARAMS
from toolcrib.wire.protocol import MODERN_PROTOCOL_VERSIONS

# Where the guard writes down which peer has proved that it calls.
PEER_IN_SCOPE = "toolcrib.peer"
TTL_MS = 60_000
_HINT = CacheHint(TTL_MS, "private")

Exposed = Callable[[], Mapping[str, VisibleTool]]


def build_exposed_server(gateway: Gateway, exposed: Exposed, card: Callable[[], bytes]) -> Server[Any]:
    """A low-level SDK server for both eras; `exposed` are the tools that peers may use now, by their names for peers."""
    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        title=TITLE,
        cache_hints={"tools/list": _HINT, "resources/list": _HINT, "server/discover": CacheHint(0, "private")},
        get_tool_input_schema=lambda name: _schema_of(exposed(), name),
        on_list_tools=_answered_before,
        on_call_tool=_answered_before,
        on_list_resources=_answered_before,
        on_read_resource=_answered_before,
    )
    server.middleware.append(_ExposedMiddleware(gateway, exposed, card))
    return server


async def _answered_before(_: Context, __: Any) -> Any:
    """Registered so that the SDK lists the method; the middleware answers first."""
    raise MCPError(INVALID_PARAMS, "the request has no id")


def _schema_of(tools: Mapping[str, VisibleTool], name: str) -> dict[str, Any] | None:
    visible = tools.get(name)
    return None if visible is None else dict(visible.tool.input_schema)


class _ExposedMiddleware:
    """Answers what peers may ask, with definitions and results as they came; everything else goes on to the SDK."""

    def __init__(self, gateway: Gateway, exposed: Exposed, card: Callable[[], bytes]) -> None:
        self._gateway = gateway
        self._exposed = exposed
        self._card = card

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None:
            return await call_next(ctx)
        match ctx.method:
            case "tools/list":
                tools = self._exposed().items()
                return _result(ctx, {"tools": [exposed_definition(name, visible) for name, visible in tools]})
            case "tools/call":
                return await self._call(ctx)
            case "resources/list":
                return _result(ctx, {"resources": [CARD_RESOURCE]})
            case "resources/read":
                return _result(ctx, {"contents": [self._read(ctx)]})
            case _:
                return await call_next(ctx)

    def _read(self, ctx: Context) -> dict[str, str]:
        if (ctx.params or {}).get("uri") != CARD_URI:
            raise MCPError(INVALID_PARAMS, NO_OTHER)
        return card_content(self._card())

    async def _call(self, ctx: Context) -> HandlerResult:
        params = ctx.params or {}
        name, arguments = params.get("name"), params.get("arguments")
        # The same words for a tool that is not there and one that is not for peers: who asks learns of neither.
        visible = self._exposed().get(name) if isinstance(name, str) else None
        if visible is None:
            raise MCPError(INVALID_PARAMS, f"no such tool is offered to peers: {str(name)[:128]!r}")
        if arguments is not None and not isinstance(arguments, Mapping):
            raise MCPError(INVALID_PARAMS, "tools/call: arguments must be an object")
        outcome = await self._run(ctx, visible, arguments or {})
        members = _members(outcome)
        answer = stamped(members) if _is_modern(ctx) else members
        return {name: msgspec.json.decode(value) for name, value in answer.items()}

    async def _run(self, ctx: Context, visible: VisibleTool, arguments: Mapping[str, Any]) -> ExecutionResult:
        async with hearing(ctx, caller_of(ctx), None, modern=_is_modern(ctx)) as request:
            return await self._gateway.execute(
                ToolCall(
                    visible.tool.server,
                    visible.tool.name,
                    arguments,
                    msgspec.json.encode(arguments),
                    request.caller,
                    request.listener,
                    request.log_level,
                    request.meta,
                    wants_progress=request.wants_progress,
                )
            )


def caller_of(ctx: Context) -> Caller:
    """The peer behind a request, as it proved to the guard."""
    request: Any = ctx.request
    peer: KnownPeer = request.scope[PEER_IN_SCOPE]
    return Caller(name=peer.server, face="peer", key=f"peer:{peer.peer_id}")


def _members(outcome: ExecutionResult) -> Members:
    """The result as the server gave it; what went wrong on the way is told as an answer that failed."""
    if outcome.result is not None:
        return shape_result(outcome.result, "passthrough", 0, lambda _: "")
    if outcome.error is None:
        raise MCPError(types.INTERNAL_ERROR, "the call ended without a result")
    return text_result(failure_json(outcome.error), is_error=True)


def _result(ctx: Context, members: dict[str, Any]) -> dict[str, Any]:
    return {**members, "_meta": dict(STAMP), "resultType": "complete"} if _is_modern(ctx) else members


def _is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
