"""What tools are called where callers meet them: prefixes of entries, and the names of external endpoints."""

from __future__ import annotations

from typing import Any

from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool

# Tools of external endpoints bear it, as the files that name such endpoints want it.
SUFFIX = "_external"
FALLBACK_TAG = "fallback"
# What an agent may try where the endpoint's own list could not be had: name, description, parameters.
_COMMON_TOOLS = (
    ("read_file", "Read a file from external filesystem", ("path",)),
    ("write_file", "Write a file to external filesystem", ("path", "content")),
    ("list_directory", "List directory contents from external filesystem", ("path",)),
    ("create_directory", "Create a directory in external filesystem", ("path",)),
)


def external_tool(tool: Tool, spec: ServerSpec, own_name: str = "") -> Tool:
    """The tool under the name and description it has on its endpoint's server; its schemas stay as they are.

    `own_name` is what the endpoint calls itself, where it was ever asked.
    """
    described = f"{tool.description} (via {own_name or spec.title or spec.name})".lstrip()
    public = Tool(tool.server, f"{tool.name}{SUFFIX}", {**tool.definition, "description": described})
    # It still is the server's own definition that was read, approved and learnt about.
    vars(public)["fingerprint"] = tool.fingerprint
    return public


def public_name(name: str, spec: ServerSpec) -> str:
    """The name we give a tool that its server calls `name`."""
    return f"{spec.prefix}{name}{SUFFIX if spec.contract else ''}"


def public_tool(tool: Tool, spec: ServerSpec, own_name: str = "") -> Tool:
    """The tool as callers meet it; items keep their names, for these say which server they are of."""
    if tool.kind != "tool":
        return tool
    prefixed = tool.renamed(server=tool.server, name=spec.prefix + tool.name) if spec.prefix else tool
    return external_tool(prefixed, spec, own_name) if spec.contract else prefixed


def fallback_tools(spec: ServerSpec) -> list[Tool]:
    """What stands in for the tools of an endpoint that could not be read, under the endpoint's own names for them."""
    return [Tool.from_mcp(spec.name, _fallback(*common)) for common in _COMMON_TOOLS] if spec.contract else []


def _fallback(name: str, description: str, parameters: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"{description}; assumed, because its server could not be read",
        "inputSchema": {
            "type": "object",
            "properties": {parameter: {"type": "string"} for parameter in parameters},
            "required": list(parameters),
        },
    }
