"""The details of a tool as an agent reads them: all of it where that is short, the most useful where it is long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from toolcrib.model.token_estimate import estimated_tokens
from toolcrib.model.view import Parameter, ToolDetails
from toolcrib.schema.type_names import CUT

MOST_TOKENS = 800
MORE = "Shortened. For the whole schema: execute_tool, server toolcrib, tool get_schema, arguments {server, tool}."

# A few words cost half of what the hints cost as JSON.
_HINTS = {
    ("readOnlyHint", True): "read-only",
    ("destructiveHint", True): "destructive",
    ("destructiveHint", False): "not destructive",
    ("idempotentHint", True): "idempotent",
    ("openWorldHint", False): "closed world",
}

encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class _Lengths:
    """How many characters each part may have."""

    description: int
    parameter: int
    type: int
    fields: int
    parameters: int = 1_000


# Tried in this order; what is longer than the last one loses its optional parameters from behind.
_LENGTHS = (
    _Lengths(2_000, 500, 500, 1_500),
    _Lengths(1_000, 200, 200, 600),
    _Lengths(500, 100, 100, 300),
    _Lengths(300, 50, 60, 0),
)


def render_details(found: ToolDetails) -> dict[str, Any]:
    """The answer to `get_tool_details`; a note says so where the server's definition has more."""
    for lengths in _shorter_and_shorter(found):
        answer, is_cut = _rendered(found, lengths)
        if is_cut or not found.is_whole:
            answer["note"] = MORE
        if estimated_tokens(encode(answer).decode()) <= MOST_TOKENS:
            break
    return answer


def _shorter_and_shorter(found: ToolDetails) -> Iterator[_Lengths]:
    yield from _LENGTHS
    last, needed = _LENGTHS[-1], sum(parameter.required for parameter in found.parameters)
    count = len(found.parameters)
    while count > needed:
        count = max(needed, count * 3 // 4)
        yield _Lengths(last.description, last.parameter, last.type, last.fields, count)


def _rendered(found: ToolDetails, lengths: _Lengths) -> tuple[dict[str, Any], bool]:
    """The answer within these lengths, and whether anything was left out for them."""
    parameters = [_parameter(one, lengths) for one in found.parameters[: lengths.parameters]]
    fields = dict(_within(found.fields, lengths))
    answer: dict[str, Any] = {
        "server": found.server,
        "tool": found.tool,
        "description": _cut(found.description, lengths.description),
        "parameters": parameters,
    }
    optional = {
        "kind": "" if found.kind == "tool" else found.kind,
        "fields": fields,
        "signature": found.signature,
        "examples": list(found.examples),
        "returns": found.returns,
        "annotations": "" if found.kind != "tool" else _hints(found),
        # The other two are not worth their tokens.
        "effect": found.effect if found.effect == "destructive" else "",
        "notChecked": f"arguments are not checked before the call: {found.not_checked}" if found.not_checked else "",
        "enabled": None if found.enabled else False,
    }
    answer.update({name: value for name, value in optional.items() if value not in ("", [], {}, None)})
    is_cut = (
        answer["description"] != found.description
        or fields != dict(found.fields)
        or len(parameters) < len(found.parameters)
        or any(map(_is_cut, found.parameters, parameters))
    )
    return answer, is_cut


def _hints(found: ToolDetails) -> str:
    return ", ".join(words for hint, words in _HINTS.items() if hint in found.annotations.items())


def _parameter(parameter: Parameter, lengths: _Lengths) -> dict[str, Any]:
    rendered: dict[str, Any] = {"name": parameter.name, "type": _cut(_type(parameter), lengths.type)}
    if parameter.description:
        rendered["description"] = _cut(parameter.description, lengths.parameter)
    default = {"default": msgspec.Raw(parameter.default.encode("utf-8", "replace"))} if parameter.default else {}
    return {**rendered, "required": parameter.required, **default}


def _type(parameter: Parameter) -> str:
    return f"{parameter.type} {parameter.limits}".strip()


def _is_cut(whole: Parameter, rendered: Mapping[str, Any]) -> bool:
    return (rendered["type"], rendered.get("description", "")) != (_type(whole), whole.description)


def _within(fields: Mapping[str, str], lengths: _Lengths) -> Iterator[tuple[str, str]]:
    """As many descriptions as there is room for, from the first on."""
    left = lengths.fields
    for path, text in islice(fields.items(), lengths.fields):
        shown = _cut(text, lengths.parameter)
        left -= len(path) + len(shown)
        if left < 0:
            return
        yield path, shown


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + CUT
