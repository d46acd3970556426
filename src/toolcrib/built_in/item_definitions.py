"""The built-in tools for prompts and resources, as definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LIST_RESOURCES: Final = "list_resources"
READ_RESOURCE: Final = "read_resource"
LIST_PROMPTS: Final = "list_prompts"
GET_PROMPT: Final = "get_prompt"
COMPLETE: Final = "complete"

_SERVER = {"type": "string", "description": "Omit it for all servers"}
_OFFSET = {"type": "integer", "minimum": 0, "description": "First one to list (default 0)"}


def _tool(name: str, description: str, required: list[str], /, **properties: Any) -> Mapping[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    }


ITEM_TOOLS = (
    _tool(
        LIST_RESOURCES,
        "List the resources and resource templates that MCP servers offer for reading.",
        [],
        server=_SERVER,
        offset=_OFFSET,
    ),
    _tool(
        READ_RESOURCE,
        "Read a resource of an MCP server by its URI, also one that a result links to.",
        ["server", "uri"],
        server={"type": "string"},
        uri={"type": "string", "minLength": 1, "maxLength": 8192},
    ),
    _tool(LIST_PROMPTS, "List the prompts that MCP servers offer.", [], server=_SERVER, offset=_OFFSET),
    _tool(
        GET_PROMPT,
        "Get a prompt of an MCP server, filled in with arguments.",
        ["server", "name"],
        server={"type": "string"},
        name={"type": "string", "minLength": 1},
        arguments={"type": "object", "additionalProperties": {"type": "string"}},
    ),
    _tool(
        COMPLETE,
        "Suggest values for an argument of a prompt or for a variable of a resource template.",
        ["server", "ref", "argument"],
        server={"type": "string"},
        ref={"type": "string", "description": "prompt:NAME or resource:TEMPLATE"},
        argument={"type": "string", "description": "Which argument or variable"},
        value={"type": "string", "description": "How it begins"},
    ),
)
