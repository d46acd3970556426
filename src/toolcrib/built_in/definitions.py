"""What the built-in server `toolcrib` offers, as definitions: known without anything that runs them."""

from __future__ import annotations

from toolcrib.built_in.item_definitions import ITEM_TOOLS
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.tool import Tool

_READ_RESULT = {
    "name": "read_result",
    "description": "Read more of a large result by its handle: a range of characters, one value by JSON pointer, "
    "or the lines that match a pattern.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "From the truncated answer"},
            "offset": {"type": "integer", "minimum": 0, "description": "First character (default 0)"},
            "length": {"type": "integer", "minimum": 1, "description": "Maximum characters (default 16000)"},
            "pointer": {"type": "string", "description": "JSON pointer, such as /items/0/name"},
            "grep": {
                "type": "string",
                "description": "Regular expression; returns matching lines, or for JSON the values with their pointers",
            },
        },
        "required": ["handle"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}

_GET_SCHEMA = {
    "name": "get_schema",
    "description": "Get the whole definition of a tool as its server gave it, with the full JSON Schemas.",
    "inputSchema": {
        "type": "object",
        "properties": {"server": {"type": "string"}, "tool": {"type": "string"}},
        "required": ["server", "tool"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}

_LIST_MORE = {
    "name": "list_more",
    "description": "Continue list_mcp_servers, or list_tools of one server, after it was cut short.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "server": {"type": "string", "description": "Omit it to list servers"},
            "offset": {"type": "integer", "minimum": 0, "description": "First one to list (default 0)"},
            "includeDisabled": {"type": "boolean"},
        },
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}

_INTROSPECT_SERVER = {
    "name": "introspect_server",
    "description": "Propose an MCP server that this gateway does not have yet, by its URL or command line. A URL is "
    "asked for its tools; a command is recorded, never run. A person must approve the server before it can be used.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "endpoint": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "URL or command line"},
            "name": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Name for the server"},
            "auth_env_var": {
                "type": "string",
                "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,99}$",
                "description": "Variable that holds its token; used only after approval",
            },
            "goal": {"type": "string", "maxLength": 1000, "description": "What you want it for"},
        },
        "required": ["endpoint"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": True},
}

BUILT_IN_TOOLS = tuple(
    Tool.from_mcp(BUILT_IN_SERVER, definition)
    for definition in (_READ_RESULT, _GET_SCHEMA, _LIST_MORE, _INTROSPECT_SERVER, *ITEM_TOOLS)
)
