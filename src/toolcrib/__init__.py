"""Toolcrib: one MCP server in front of all your MCP servers.

The public names are resolved on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolcrib.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from toolcrib.ccos.contracts import RemoteMcpEngine, ToolContract, contract_for
    from toolcrib.config.load import load_settings
    from toolcrib.config.settings import Settings
    from toolcrib.discovery.options import DiscoveryOptions
    from toolcrib.discovery.provider import MCPDiscoveryProvider
    from toolcrib.discovery.results import MCPServerConfig
    from toolcrib.discovery.service import MCPDiscoveryService
    from toolcrib.engine.contract_engine import contract_engine
    from toolcrib.engine.open_gateway import open_discovery, open_gateway
    from toolcrib.engine.validation import ConfigCheck, validate_config
    from toolcrib.errors import ConfigurationError, Problem, ToolcribError, ValidationError
    from toolcrib.gateway import Gateway
    from toolcrib.gateway import Gateway as DiscoveryEngine
    from toolcrib.limits.rate import RateLimitConfig
    from toolcrib.limits.retry import RetryPolicy
    from toolcrib.model.asking import Question, QuestionRefused
    from toolcrib.model.call import ExecutionError, ExecutionResult, LogMessage, Progress, ToolResult
    from toolcrib.model.caller import Caller, Rights
    from toolcrib.model.status import ServerStatus
    from toolcrib.model.view import Parameter, SearchAnswer, SearchHit, ServerSummary, ToolDetails, ToolSummary
    from toolcrib.server.embedded import MCPDiscoveryServer

__all__ = [
    "Caller",
    "ConfigCheck",
    "ConfigurationError",
    "DiscoveryEngine",
    "DiscoveryOptions",
    "ExecutionError",
    "ExecutionResult",
    "Gateway",
    "LogMessage",
    "MCPDiscoveryProvider",
    "MCPDiscoveryServer",
    "MCPDiscoveryService",
    "MCPServerConfig",
    "Parameter",
    "Problem",
    "Progress",
    "Question",
    "QuestionRefused",
    "RateLimitConfig",
    "RemoteMcpEngine",
    "RetryPolicy",
    "Rights",
    "SearchAnswer",
    "SearchHit",
    "ServerStatus",
    "ServerSummary",
    "Settings",
    "ToolContract",
    "ToolDetails",
    "ToolResult",
    "ToolSummary",
    "ToolcribError",
    "ValidationError",
    "__version__",
    "contract_engine",
    "contract_for",
    "load_settings",
    "open_discovery",
    "open_gateway",
    "validate_config",
]

_NAMES_BY_HOME = {
    "toolcrib.ccos.contracts": "RemoteMcpEngine ToolContract contract_for",
    "toolcrib.engine.contract_engine": "contract_engine",
    "toolcrib.engine.open_gateway": "open_discovery open_gateway",
    "toolcrib.engine.validation": "ConfigCheck validate_config",
    "toolcrib.config.load": "load_settings",
    "toolcrib.config.settings": "Settings",
    "toolcrib.discovery.results": "MCPServerConfig",
    "toolcrib.discovery.options": "DiscoveryOptions",
    "toolcrib.discovery.provider": "MCPDiscoveryProvider",
    "toolcrib.discovery.service": "MCPDiscoveryService",
    "toolcrib.errors": "ConfigurationError Problem ToolcribError ValidationError",
    "toolcrib.gateway": "Gateway",
    "toolcrib.limits.rate": "RateLimitConfig",
    "toolcrib.limits.retry": "RetryPolicy",
    "toolcrib.model.asking": "Question QuestionRefused",
    "toolcrib.model.caller": "Caller Rights",
    "toolcrib.model.call": "ExecutionError ExecutionResult LogMessage Progress ToolResult",
    "toolcrib.model.status": "ServerStatus",
    "toolcrib.model.view": "Parameter SearchAnswer SearchHit ServerSummary ToolDetails ToolSummary",
    "toolcrib.server.embedded": "MCPDiscoveryServer",
}
_HOMES = {name: home for home, names in _NAMES_BY_HOME.items() for name in names.split()}
# The name that the design of the engine has for it.
_ALIASES = {"DiscoveryEngine": "Gateway"}


def __getattr__(name: str) -> Any:
    own_name = _ALIASES.get(name, name)
    if own_name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[own_name]), own_name)


def __dir__() -> list[str]:
    return sorted(__all__)
