"""What tools are called where callers meet them: prefixes of entries, and the names of external endpoints."""

from __future__ import annotations

from typing import Any

from toolcrib.model.clean_name import clean_address, clean_name
from toolcrib.model.items import PROMPT, name_on_server
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
    return f"{spec.prefix}{clean_name(name)}{SUFFIX if spec.contract else ''}"


def public_tool(tool: Tool, spec: ServerSpec, own_name: str = "") -> Tool:
    """The tool as callers meet it; items get no prefix, for they are found by what their server calls them."""
    name = shown_name(tool)
    if tool.kind != "tool":
        return _called(tool, name)
    prefixed = _called(tool, spec.prefix + name)
    return external_tool(prefixed, spec, own_name) if spec.contract else prefixed


def shown_name(tool: Tool) -> str:
    """What the server calls it, as far as it may be shown."""
    if tool.kind == "tool":
        return clean_name(tool.name)
    own = name_on_server(tool.kind, tool.name)
    before = tool.name.removesuffix(own)
    return before + (clean_name(own) if before == PROMPT else clean_address(own))


def _called(tool: Tool, name: str) -> Tool:
    return tool if name == tool.name else tool.renamed(server=tool.server, name=name)


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
