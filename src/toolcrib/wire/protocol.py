"""The protocol's own words: its revisions, the names it reserves, and an error of its own.

They are the SDK's, and a test compares them; written down here because loading the SDK takes longer than all other work
of a command, or of a gateway that starts.
"""

from __future__ import annotations

# Reached by the handshake `initialize`, oldest first.
HANDSHAKE_PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_HANDSHAKE_VERSION = HANDSHAKE_PROTOCOL_VERSIONS[-1]
# Named in each request, oldest first.
MODERN_PROTOCOL_VERSIONS = ("2026-07-28",)
LATEST_MODERN_VERSION = MODERN_PROTOCOL_VERSIONS[-1]

RESERVED_META_PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION_META_KEY = f"{RESERVED_META_PREFIX}protocolVersion"
CLIENT_INFO_META_KEY = f"{RESERVED_META_PREFIX}clientInfo"
CLIENT_CAPABILITIES_META_KEY = f"{RESERVED_META_PREFIX}clientCapabilities"
LOG_LEVEL_META_KEY = f"{RESERVED_META_PREFIX}logLevel"
SERVER_INFO_META_KEY = f"{RESERVED_META_PREFIX}serverInfo"

# How grave a log message is, the least grave first.
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

MCP_PROTOCOL_VERSION_HEADER = "mcp-protocol-version"
MCP_METHOD_HEADER = "mcp-method"
MCP_NAME_HEADER = "mcp-name"

UNSUPPORTED_PROTOCOL_VERSION = -32022
MISSING_REQUIRED_CLIENT_CAPABILITY = -32021
URL_ELICITATION_REQUIRED = -32042
# Of the handshake era; the newest revision says "invalid parameters" instead.
RESOURCE_NOT_FOUND = -32002

ROOTS_CHANGED = "notifications/roots/list_changed"
ELICITATION_COMPLETE = "notifications/elicitation/complete"
