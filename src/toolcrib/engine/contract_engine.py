"""The engine of `remote-mcp` contracts, run by an open gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from toolcrib.ccos.contracts import RemoteMcpEngine
from toolcrib.errors import ToolExecutionError
from toolcrib.gateway import Gateway
from toolcrib.model.call import ToolResult
from toolcrib.model.server import ServerSpec


def contract_engine(gateway: Gateway) -> RemoteMcpEngine:
    """An engine whose contracts run like any call of this gateway: under its rules, with the endpoint's headers."""

    def specs() -> Mapping[str, ServerSpec]:
        return {spec.name: spec for spec in gateway.settings.servers}

    async def execute(server: str, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        outcome = await gateway.execute_tool(server, tool, arguments)
        if outcome.error is not None:
            error = outcome.error
            raise ToolExecutionError(error.message, server=server, hint=error.hint, reason=error.code)
        return cast("ToolResult", outcome.result)  # what did not fail has one

    return RemoteMcpEngine(specs, execute)
