"""Everything a caller needs to know to call a tool, from its definition."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.model.tool import Tool
from toolcrib.model.view import Parameter, ToolDetails
from toolcrib.schema.examples import examples
from toolcrib.schema.parameters import is_nested, parameters
from toolcrib.schema.signature import signature, type_text

LONGEST_RETURNS = 200


def describe(tool: Tool, *, enabled: bool, tags: Sequence[str]) -> ToolDetails:
    """The details of a tool; a signature is added only where a list of parameters would hide structure."""
    schema = tool.input_schema
    return ToolDetails(
        server=tool.server,
        tool=tool.name,
        description=tool.description or tool.title,
        parameters=tuple(Parameter(p.name, p.type, p.description, p.required) for p in parameters(schema)),
        signature=signature(tool.name, schema) if is_nested(schema) else "",
        enabled=enabled,
        tags=tuple(tags),
        examples=tuple(examples(tool.definition)),
        returns=type_text(tool.output_schema, limit=LONGEST_RETURNS) if tool.output_schema else "",
        definition=tool.definition,
    )
