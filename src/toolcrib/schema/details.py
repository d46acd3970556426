"""Everything a caller needs to know to call a tool, from its definition."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.model.tool import Tool
from toolcrib.model.view import ToolDetails
from toolcrib.schema.convert import convert
from toolcrib.schema.examples import examples
from toolcrib.schema.parameters import is_nested, parameters
from toolcrib.schema.signature import short_type, signature

LONGEST_RETURNS = 200


def describe(tool: Tool, *, enabled: bool, tags: Sequence[str]) -> ToolDetails:
    """The details of a tool; a signature is added only where a list of parameters would hide structure."""
    input = convert(tool.input_schema).type
    return ToolDetails(
        server=tool.server,
        tool=tool.name,
        description=tool.description or tool.title,
        parameters=parameters(input),
        signature=signature(tool.name, input) if is_nested(input) else "",
        enabled=enabled,
        tags=tuple(tags),
        examples=tuple(examples(tool.definition)),
        returns=short_type(convert(tool.output_schema).type, limit=LONGEST_RETURNS) if tool.output_schema else "",
        definition=tool.definition,
    )
