"""The five meta-tools as agents see them: constants, so that the answer to tools/list never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_STRING: Final = {"type": "string"}


def _tool(name: str, description: str, properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": description, "inputSchema": schema}


META_TOOLS: Final[tuple[dict[str, Any], ...]] = (
    _tool("list_mcp_servers", "List the MCP servers behind this gateway.", {}),
    _tool(
        "search_tools",
        "Find tools on all servers by what they do, in your own words. Start here.",
        {
            "query": _STRING,
            "server": {"type": "string", "description": "Only this server"},
            "limit": {"type": "integer", "description": "Most results (default 10)"},
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
        {
            "server": _STRING,
            "tool": _STRING,
            "arguments": {"type": "object", "description": "As get_tool_details says"},
        },
        ["server", "tool", "arguments"],
    ),
)

META_TOOL_NAMES: Final = tuple(tool["name"] for tool in META_TOOLS)
INPUT_SCHEMAS: Final = {tool["name"]: tool["inputSchema"] for tool in META_TOOLS}

NAMED_IN_INSTRUCTIONS = 12
TOPICS_IN_INSTRUCTIONS = 6


def instructions(servers: Sequence[str], *, enabled: bool = True, topics: Sequence[str] = ()) -> str:
    """What the gateway says of itself at the handshake; fixed for the life of the process."""
    if not enabled:
        return "Toolcrib is switched off (discovery.enabled: false): no server is behind the counter."
    if not servers:
        return "Toolcrib: one counter for all MCP servers. None is configured yet."
    named = ", ".join(servers[:NAMED_IN_INSTRUCTIONS])
    more = len(servers) - NAMED_IN_INSTRUCTIONS
    tail = f" and {more} more" if more > 0 else ""
    about = f" They know about {', '.join(topics[:TOPICS_IN_INSTRUCTIONS])}." if topics else ""
    steps = "search_tools, then get_tool_details, then execute_tool."
    return f"One counter for these MCP servers: {named}{tail}.{about} {steps}"
