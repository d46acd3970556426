"""Everything a caller needs to know to call a tool, from its definition."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.model.learnt import LearntShape
from toolcrib.model.tool import Tool
from toolcrib.model.view import Parameter, ToolDetails
from toolcrib.schema.examples import examples, made_up_example
from toolcrib.schema.parameters import is_nested, parameters
from toolcrib.schema.signature import signature, type_text

LONGEST_RETURNS = 200


def describe(tool: Tool, *, enabled: bool, tags: Sequence[str], learnt: LearntShape | None = None) -> ToolDetails:
    """The details of a tool; a signature is added only where a list of parameters would hide structure.

    `learnt` is what its results looked like, for a tool whose server does not say.
    """
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
        returns=_returns(tool, learnt),
        definition=tool.definition,
        made_up_example=made_up_example(tool.definition),
    )


def _returns(tool: Tool, learnt: LearntShape | None) -> str:
    """The type of what the tool returns, where that is known; what is not the server's own word is marked."""
    if tool.output_schema:
        declared = type_text(tool.output_schema, limit=LONGEST_RETURNS)
        return f"{declared} (not all results fit)" if learnt is not None and learnt.drift else declared
    if learnt is None or not learnt.schema:
        return ""
    seen = "learnt from results" if learnt.origin == "calls" else "seen in a trial call"
    drift = f"; a later one differed at {learnt.drift}" if learnt.drift else ""
    return f"{type_text(learnt.schema, limit=LONGEST_RETURNS)} ({seen}{drift})"
