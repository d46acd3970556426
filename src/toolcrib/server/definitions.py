"""The five meta-tools as agents see them: constants, so that the answer to tools/list never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_STRING: Final = {"type": "string"}
# Four tools only look at what is known of the configured servers: a client need not ask before it calls one.
_LOOKS: Final = {"readOnlyHint": True, "openWorldHint": False}
# The fifth does whatever the tool it runs does. All is said, though it is what the protocol assumes anyway: some clients
# ask a person only where a hint is given.
_RUNS: Final = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
_READS: Final = {"readOnlyHint": True, "openWorldHint": True}
# Claude Code shows a model only the names of tools it may load later; few models load them.
_ALWAYS_LOADED: Final = {"anthropic/alwaysLoad": True}


def _tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    required: Sequence[str] = (),
    annotations: Mapping[str, bool] = _LOOKS,
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    described = {"name": name, "description": description, "inputSchema": schema}
    return {**described, "annotations": dict(annotations), "_meta": dict(_ALWAYS_LOADED)}


_WHAT_TO_RUN: Final = {
    "server": _STRING,
    "tool": _STRING,
    "arguments": {"type": "object", "description": "As get_tool_details shows"},
}
_TO_RUN: Final = ("server", "tool", "arguments")

META_TOOLS: Final[tuple[dict[str, Any], ...]] = (
    _tool("list_mcp_servers", "List the MCP servers you can use.", {}),
    _tool(
        "search_tools",
        "Find tools on all servers by what they do, in your own words. Start here.",
        {
            "query": _STRING,
            "server": {"type": "string", "description": "Only this server"},
            "limit": {"type": "integer", "description": "Maximum results (default 10)"},
        },
        ["query"],
    ),
    _tool(
        "list_tools",
        "List the tools of one server.",
        {"server": _STRING, "includeDisabled": {"type": "boolean"}},
        ["server"],
    ),
    _tool(
        "get_tool_details",
        "Get a tool's description and parameters. Do this before executing it.",
        {"server": _STRING, "tool": _STRING},
        ["server", "tool"],
    ),
    _tool(
        "execute_tool",
        "Run a tool of any server and get its result.",
        _WHAT_TO_RUN,
        _TO_RUN,
        _RUNS,
    ),
)
# Offered besides where the settings want it, so that a client can be told to allow this one without a question.
EXECUTE_READ_ONLY: Final = "execute_read_only"
READ_ONLY_TOOL: Final = _tool(
    EXECUTE_READ_ONLY, "Run a tool that changes nothing and get its result.", _WHAT_TO_RUN, _TO_RUN, _READS
)

# What the gateway says of itself at the handshake costs no more than this.
MOST_INSTRUCTION_TOKENS: Final = 250
# They are constants, so a client may keep them for a day.
TOOLS_TTL_MS: Final = 24 * 3600 * 1000
META_TOOL_NAMES: Final = tuple(tool["name"] for tool in META_TOOLS)
INPUT_SCHEMAS: Final = {tool["name"]: tool["inputSchema"] for tool in (*META_TOOLS, READ_ONLY_TOOL)}


def offered_tools(*, read_only_tool: bool) -> tuple[dict[str, Any], ...]:
    """What a client is offered under these settings."""
    return (*META_TOOLS, READ_ONLY_TOOL) if read_only_tool else META_TOOLS
