"""The gateway out of its parts: which way a call goes, and what the discovery service may use."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolcrib.built_in.introspect_server import IntrospectServer
from toolcrib.built_in.server import BuiltIn
from toolcrib.calls.audit import Audit
from toolcrib.calls.chain import CallTool, build_chain
from toolcrib.calls.introspect import Introspector
from toolcrib.calls.limit_concurrency import LimitConcurrency
from toolcrib.calls.limit_rate import LimitRate
from toolcrib.calls.observe import Observe
from toolcrib.calls.resolve_tool import ResolveTool
from toolcrib.calls.retry import Retry
from toolcrib.calls.validate_arguments import ValidateArguments
from toolcrib.clients.display import ALL_OF_THE_CONTENT, ClientDisplay
from toolcrib.clients.table import display_of
from toolcrib.config.settings import Settings
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.engine.adapters.capabilities import capability_desk
from toolcrib.engine.adapters.types import OutputSchemas, published_type
from toolcrib.engine.adapters.unapproved import OutboundCheck, Strangers
from toolcrib.engine.capabilities import capability_files
from toolcrib.engine.discovery_settings import call_limit
from toolcrib.engine.from_settings import result_files
from toolcrib.engine.gateway_parts import GatewayParts
from toolcrib.engine.list_more import listed_more
from toolcrib.gateway import Gateway
from toolcrib.limits.rate import RateLimitConfig
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.queries.listing import LIST_MORE
from toolcrib.schema.validate import ArgumentChecker


def wired_gateway(
    parts: GatewayParts, *, reload: Callable[[], Awaitable[Settings]], learn: Callable[[float], Awaitable[bool]]
) -> Gateway:
    """The gateway whose calls meet every step, and whose answers come from these parts."""
    view, shelf = parts.offline.view, result_files(parts.settings, parts.paths)

    async def introspect_server(call: ToolCall) -> ToolResult:
        strangers = Strangers(service, seconds=parts.settings.list_timeout_seconds)
        return await IntrospectServer(parts.capabilities().review, strangers)(call)

    def display(client: str) -> ClientDisplay:
        return display_of(client) if parts.settings.fit_clients else ALL_OF_THE_CONTENT

    async def list_more(call: ToolCall) -> ToolResult:
        return await listed_more(gateway, call.arguments)

    more = {"introspect_server": introspect_server, LIST_MORE: list_more}
    built_in = BuiltIn(view, shelf, more, display=display)

    async def call_tool(call: ToolCall) -> ToolResult:
        return await (built_in.call(call) if call.server == BUILT_IN_SERVER else parts.pool.call(call))

    def inputs() -> Mapping[str, Mapping[str, Any]]:
        return parts.settings.introspection_inputs

    chained = _chain(parts, call_tool)
    introspector = Introspector(view, parts.offline.store, chained, inputs=inputs, now=time.time)
    service = _service(parts, chained, OutputSchemas(view, introspector, inputs))
    gateway = Gateway(
        view=view,
        refresher=parts.refresher,
        discovery_service=service,
        connections=parts.pool,
        call_tool=chained,
        introspector=introspector,
        shelf=shelf,
        settings=lambda: parts.settings,
        reload=reload,
        learn=learn,
        hints=parts.hints,
    )
    return gateway


def _chain(parts: GatewayParts, call_tool: CallTool) -> CallTool:
    def limit_of(server: str) -> RateLimitConfig | None:
        return call_limit(parts.settings, parts.offline.view.specs.get(server))

    return build_chain(
        [
            Audit(parts.audit, now=time.time, monotonic=time.monotonic),  # outermost: refusals are recorded too
            ResolveTool(
                parts.offline.view,
                parts.refresher,
                declared_seconds=lambda: parts.settings.startup_timeout_seconds,
            ),
            ValidateArguments(ArgumentChecker(), parts.settings.max_nesting),
            LimitConcurrency(lambda: parts.settings.max_calls),  # after the checks: a refused call holds no place
            Retry(),
            LimitRate(parts.limiter, limit_of),  # every attempt spends the server's quota
            Observe(parts.output_shapes),  # innermost: learns only from what servers really answered
        ],
        call_tool,
    )


def _service(parts: GatewayParts, call_tool: CallTool, output_schemas: OutputSchemas) -> MCPDiscoveryService:
    return MCPDiscoveryService(
        parts.reads,
        parts.cache,
        options=parts.options,
        configured=lambda: tuple(parts.offline.view.specs.values()),
        journal=parts.refresher.journal,
        registry=parts.registry,
        capabilities=capability_desk(parts.capabilities, capability_files(parts.paths), parts.offline.view.own_name),
        types=published_type,
        introspector=output_schemas,
        call_tool=call_tool,
        # Where a stranger may be reached is decided by the check, which knows what the person has configured.
        allow_private_addresses=True,
        check_stranger=OutboundCheck(parts.configured),
    )
