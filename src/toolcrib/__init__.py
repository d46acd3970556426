"""Toolcrib: one MCP server in front of all your MCP servers.

The public names are resolved on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolcrib.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from toolcrib.app.online import open_discovery, open_gateway
    from toolcrib.config.load import load_settings
    from toolcrib.config.settings import Settings
    from toolcrib.discovery.found import MCPServerConfig
    from toolcrib.discovery.options import DiscoveryOptions
    from toolcrib.discovery.service import MCPDiscoveryService
    from toolcrib.errors import ToolcribError
    from toolcrib.gateway import Gateway
    from toolcrib.limits.rate import RateLimitConfig
    from toolcrib.limits.retry import RetryPolicy

__all__ = [
    "DiscoveryOptions",
    "Gateway",
    "MCPDiscoveryService",
    "MCPServerConfig",
    "RateLimitConfig",
    "RetryPolicy",
    "Settings",
    "ToolcribError",
    "__version__",
    "load_settings",
    "open_discovery",
    "open_gateway",
]

_HOMES = {
    "DiscoveryOptions": "toolcrib.discovery.options",
    "Gateway": "toolcrib.gateway",
    "MCPDiscoveryService": "toolcrib.discovery.service",
    "MCPServerConfig": "toolcrib.discovery.found",
    "RateLimitConfig": "toolcrib.limits.rate",
    "RetryPolicy": "toolcrib.limits.retry",
    "Settings": "toolcrib.config.settings",
    "ToolcribError": "toolcrib.errors",
    "load_settings": "toolcrib.config.load",
    "open_discovery": "toolcrib.app.online",
    "open_gateway": "toolcrib.app.online",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
