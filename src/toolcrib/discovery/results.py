"""What a discovery gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.errors import ToolcribError
from toolcrib.model.server import ServerSpec

MCPServerConfig = ServerSpec


@dataclass(frozen=True, slots=True)
class DiscoveredMCPTool:
    """A tool a server has; the schemas are RTFS types where a converter is at hand, and None where nothing is known."""

    tool_name: str
    description: str
    input_schema: object | None
    output_schema: object | None
    input_schema_json: Mapping[str, Any]
    # The server's own output schema, or one learnt from a call.
    output_schema_json: Mapping[str, Any] | None = None
    # The whole definition as the server gave it.
    definition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerOutcome:
    """What became of one server among several; `error` says why there are no tools."""

    config: ServerSpec
    tools: tuple[DiscoveredMCPTool, ...] = ()
    error: ToolcribError | None = None


@dataclass(frozen=True, slots=True)
class WarmStats:
    """How a warming of the cache went."""

    total_servers: int = 0
    successful: int = 0
    failed: int = 0
    cached_tools: int = 0
