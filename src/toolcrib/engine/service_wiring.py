"""The discovery service of a workspace, and what it may use; loaded with the first use, since a third of all code comes with it."""

from __future__ import annotations

from toolcrib.built_in.introspect_server import IntrospectServer
from toolcrib.calls.chain import CallTool
from toolcrib.calls.introspect import Introspector
from toolcrib.ccos.review import Review
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.engine.adapters.capabilities import capability_sinks
from toolcrib.engine.adapters.types import OutputSchemas, published_type
from toolcrib.engine.adapters.unapproved import OutboundCheck, UnapprovedReads
from toolcrib.engine.capabilities import capability_files
from toolcrib.engine.engine import Engine
from toolcrib.engine.gateway_wiring import WorkspaceCapabilities
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.workspace.workspace import Workspace


def wired_service(
    engine: Engine,
    workspace: Workspace,
    capabilities: WorkspaceCapabilities,
    call_tool: CallTool,
    introspector: Introspector,
) -> MCPDiscoveryService:
    """The service over the parts that an engine shares."""
    return MCPDiscoveryService(
        engine.reads,
        engine.cache,
        options=engine.options,
        configured=lambda: tuple(workspace.view.specs.values()),
        journal=engine.refresher.journal,
        registry=engine.registry.service,
        capabilities=capability_sinks(capabilities, capability_files(engine.paths), workspace.view),
        types=published_type,
        introspector=OutputSchemas(workspace.view, introspector, lambda: workspace.settings.introspection_inputs),
        call_tool=call_tool,
        # The check decides whether an unapproved server may be reached: it knows what the person has configured.
        allow_private_addresses=True,
        check_unapproved=OutboundCheck(capabilities.configured),
    )


async def introspect_server(call: ToolCall, review: Review, service: MCPDiscoveryService, seconds: float) -> ToolResult:
    """`toolcrib:introspect_server`: read a server that nobody has approved, and propose it."""
    return await IntrospectServer(review, UnapprovedReads(service, seconds=seconds))(call)
