"""Tools that an entry declares: known, shown and checked before their server was ever reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.config.values import Reader, join
from toolcrib.model.server import DeclaredTool


def declared_tools(reader: Reader) -> tuple[DeclaredTool, ...]:
    """The `tools` of an entry; what is wrong with one of them is among the reader's problems."""
    value = reader.data.get("tools")
    if value is None:
        return ()
    if not isinstance(value, list):
        reader.expected("tools", "a list of tools", value)
        return ()
    return tuple(
        tool for index, item in enumerate(value) if (tool := _declared_tool(reader, join("tools", index), item))
    )


def _declared_tool(reader: Reader, key: str, item: Any) -> DeclaredTool | None:
    if isinstance(item, str) and item:
        return DeclaredTool(item)
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or not item["name"]:
        reader.expected(key, "a tool's name, or a map with name and description", item)
        return None
    description = item.get("description")
    schema = _input_schema(reader, key, item)
    return DeclaredTool(item["name"], description if isinstance(description, str) else "", schema)


def _input_schema(reader: Reader, key: str, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a tool's arguments: given as such, or as a list of parameters; empty where nothing is said."""
    schema, parameters = item.get("inputSchema"), item.get("parameters")
    if schema is not None:
        if isinstance(schema, Mapping):
            return schema
        reader.expected(join(key, "inputSchema"), "a JSON Schema", schema)
    elif parameters is not None:
        if isinstance(parameters, list) and all(map(_is_parameter, parameters)):
            return _schema_of(parameters)
        reader.expected(join(key, "parameters"), "a list of maps with name, type, description and required", parameters)
    return {}


def _is_parameter(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("name"), str) and bool(item["name"])


def _schema_of(parameters: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            parameter["name"]: {key: parameter[key] for key in ("type", "description") if key in parameter}
            for parameter in parameters
        },
        "required": [parameter["name"] for parameter in parameters if parameter.get("required") is True],
    }
