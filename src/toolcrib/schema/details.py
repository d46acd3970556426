"""Everything a caller needs to know to call a tool, from its definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolcrib.model.learnt import LearntShape
from toolcrib.model.tool import Tool
from toolcrib.model.view import Parameter, ToolDetails
from toolcrib.schema.bounds import why_unusable
from toolcrib.schema.convert import convert
from toolcrib.schema.examples import examples, made_up_example
from toolcrib.schema.fine_print import Terms, fine_print
from toolcrib.schema.parameters import is_nested, parameters
from toolcrib.schema.signature import short_type, signature
from toolcrib.schema.type_names import CUT

LONGEST_RETURNS = 200

# What holds where a server gives no hint. That a tool may destroy something is worth saying all the same.
_ASSUMED = {"readOnlyHint": False, "idempotentHint": False, "openWorldHint": True}
_OF_READERS = ("readOnlyHint", "openWorldHint")


def describe(
    tool: Tool, *, enabled: bool, tags: Sequence[str], learnt: LearntShape | None = None, reason: str = ""
) -> ToolDetails:
    """The details of a tool; a signature is added only where a list of parameters would hide structure.

    `learnt` is what its results looked like, for a tool whose server does not say; `reason` why it may not be used.
    """
    converted, said = convert(tool.input_schema), fine_print(tool.input_schema)
    listed = tuple(_with_terms(one, said.terms.get(one.name, Terms())) for one in parameters(converted.type))
    line = signature(tool.name, converted.type) if is_nested(converted.type) else ""
    returns = _returns(tool, learnt)
    return ToolDetails(
        server=tool.server,
        tool=tool.name,
        description=tool.description or tool.title,
        parameters=listed,
        signature=line,
        enabled=enabled,
        tags=tuple(tags),
        examples=tuple(examples(tool.shown)),
        returns=returns,
        definition=tool.definition,
        made_up_example=made_up_example(tool.shown),
        fields=said.inner,
        annotations=_hints(tool.annotations),
        is_whole=said.is_whole
        and not converted.warnings
        and not any(CUT in text for text in (line, returns, *(one.type for one in listed))),
        not_checked=why_unusable(tool.input_schema),
        reason=reason,
        kind=tool.kind,
        effect=tool.effect,
    )


def _with_terms(parameter: Parameter, terms: Terms) -> Parameter:
    return replace(parameter, limits=terms.limits, default=terms.default)


def _hints(annotations: Mapping[str, Any]) -> dict[str, bool]:
    """The hints that say something: what the protocol assumes anyway is left out, and so is what a reader can't do."""
    given = {name: value for name, value in annotations.items() if isinstance(value, bool)}
    if given.get("readOnlyHint"):
        return {name: value for name, value in given.items() if name in _OF_READERS and value is not _ASSUMED.get(name)}
    return {name: value for name, value in given.items() if value is not _ASSUMED.get(name)}


def _returns(tool: Tool, learnt: LearntShape | None) -> str:
    """The type of what the tool returns, where that is known; what is not the server's own word is marked."""
    if tool.output_schema:
        declared = _short(tool.output_schema)
        return f"{declared} (some results differ)" if learnt is not None and learnt.drift else declared
    if learnt is None or not learnt.schema:
        return ""
    seen = "learnt from results" if learnt.origin == "calls" else "seen in a trial call"
    drift = f"; a later one differed at {learnt.drift}" if learnt.drift else ""
    return f"{_short(learnt.schema)} ({seen}{drift})"


def _short(schema: Mapping[str, Any]) -> str:
    return short_type(convert(schema).type, limit=LONGEST_RETURNS)
