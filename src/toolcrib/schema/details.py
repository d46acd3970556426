"""Everything a caller needs to know to call a tool, from its definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib.model.learnt import LearntShape
from toolcrib.model.tool import Tool
from toolcrib.model.view import ToolDetails
from toolcrib.schema.bounds import why_unusable
from toolcrib.schema.convert import convert
from toolcrib.schema.examples import examples, made_up_example
from toolcrib.schema.parameters import is_nested, parameters
from toolcrib.schema.signature import short_type, signature

LONGEST_RETURNS = 200


def describe(tool: Tool, *, enabled: bool, tags: Sequence[str], learnt: LearntShape | None = None) -> ToolDetails:
    """The details of a tool; a signature is added only where a list of parameters would hide structure.

    `learnt` is what its results looked like, for a tool whose server does not say.
    """
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
        returns=_returns(tool, learnt),
        definition=tool.definition,
        made_up_example=made_up_example(tool.definition),
        not_checked=why_unusable(tool.input_schema),
    )


def _returns(tool: Tool, learnt: LearntShape | None) -> str:
    """The type of what the tool returns, where that is known; what is not the server's own word is marked."""
    if tool.output_schema:
        declared = _short(tool.output_schema)
        return f"{declared} (not all results fit)" if learnt is not None and learnt.drift else declared
    if learnt is None or not learnt.schema:
        return ""
    seen = "learnt from results" if learnt.origin == "calls" else "seen in a trial call"
    drift = f"; a later one differed at {learnt.drift}" if learnt.drift else ""
    return f"{_short(learnt.schema)} ({seen}{drift})"


def _short(schema: Mapping[str, Any]) -> str:
    return short_type(convert(schema).type, limit=LONGEST_RETURNS)
