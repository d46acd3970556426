"""What `toolcrib types` was given, taken apart: a JSON Schema, tool definitions, a type, or capability forms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.errors import ValidationError
from toolcrib.rtfs.capability import Capability
from toolcrib.rtfs.read_capability import read_capabilities
from toolcrib.rtfs.read_type import parse_type
from toolcrib.rtfs.types import TypeExpr
from toolcrib.schema.convert import convert
from toolcrib.schema.json_schema import json_schema

# An RTFS text begins with a name, a comment, or a bracket with a keyword in it.
_JSON = re.compile(r'\s*(?:[{"]|\[\s*[^:\s]|(?:true|false|null)\b|-?[0-9])')
_BLANK = re.compile(r"(?:[ \t\r\n]|;[^\n]*|#\|.*?\|#)*", re.DOTALL)
_INPUT_KEYS = ("inputSchema", "input_schema", "parameters")
_OUTPUT_KEYS = ("outputSchema", "output_schema")


@dataclass(frozen=True, slots=True)
class Subject:
    """One type to show; `schema` is there where the type was given and its schema is wanted."""

    type: TypeExpr
    warnings: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A schema or type without a name, or a tool or capability with what it takes and gives."""

    kind: str
    name: str = ""
    input: Subject | None = None
    output: Subject | None = None


def read_sources(text: str) -> list[Source]:
    """Everything a text holds; raises ValidationError, or RtfsError with the place."""
    if not text.strip():
        raise ValidationError("there is nothing to read", hint="Give a JSON Schema, a tool definition or an RTFS type.")
    if _JSON.match(text):
        return _from_json(_decoded(text))
    if _BLANK.sub("", text, count=1).startswith("("):
        return [_from_capability(capability) for capability in read_capabilities(text)]
    return [Source("type", input=_described(parse_type(text)))]


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValidationError("the JSON is nested too deep") from None
    except ValueError as problem:
        hint = "An RTFS type begins with a keyword or a bracket, such as :string or [:map …]."
        raise ValidationError(f"this is not JSON: {problem}", hint=hint) from None


def _from_json(value: Any) -> list[Source]:
    tools = value.get("tools") if isinstance(value, Mapping) else value
    if isinstance(tools, list):
        return [_from_tool(tool) for tool in tools]
    return [_from_tool(value) if _is_tool(value) else Source("schema", input=_converted(value))]


def _is_tool(value: Any) -> bool:
    return isinstance(value, Mapping) and any(isinstance(value.get(key), Mapping) for key in (*_INPUT_KEYS, "function"))


def _from_tool(value: Any) -> Source:
    if not _is_tool(value):
        raise ValidationError("a list must hold tool definitions, each with a name and an inputSchema")
    tool = value["function"] if isinstance(value.get("function"), Mapping) else value
    inputs, outputs = (list(_schemas(tool, keys)) for keys in (_INPUT_KEYS, _OUTPUT_KEYS))
    return Source(
        "tool",
        str(tool.get("name") or "tool"),
        _converted(inputs[0] if inputs else {}),
        _converted(outputs[0]) if outputs else None,
    )


def _schemas(tool: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Any]:
    return (tool[key] for key in keys if tool.get(key) is not None)


def _from_capability(capability: Capability) -> Source:
    shown = (None if one is None else _described(one) for one in (capability.input_schema, capability.output_schema))
    return Source("capability", capability.id, *shown)


def _converted(schema: Any) -> Subject:
    found = convert(schema)
    return Subject(found.type, found.warnings)


def _described(type: TypeExpr) -> Subject:
    found = json_schema(type)
    return Subject(type, found.warnings, found.schema)
