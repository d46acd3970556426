"""Answers as JSON: one form of each value, whole for programs, and without what says nothing for models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.errors import ToolExecutionError
from toolcrib.masking.redactor import REDACTOR
from toolcrib.model.call import ExecutionError
from toolcrib.model.clean_text import cleaned
from toolcrib.model.items import ItemKind
from toolcrib.model.view import Parameter, SearchAnswer, SearchHit, ServerSummary, ToolDetails, ToolSummary

if TYPE_CHECKING:  # only names of types: searching brings numpy along
    from toolcrib.search.explain import Explanation

Answer = dict[str, Any]
_NAMED = frozenset({"server", "tool"})


def search_json(answer: SearchAnswer) -> Answer:
    """The answer to `search_tools`: one list, and where nothing fits the note says so and the neighbours may still help."""
    results = [short_hit(hit) for hit in answer.hits or answer.nearest]
    return {"results": results, **({"note": answer.note} if answer.note else {})}


def hit_json(hit: SearchHit, why: Explanation | None = None) -> Answer:
    """One hit, with why it was found where that is known."""
    rendered: Answer = {
        "server": hit.server,
        "tool": hit.tool,
        "summary": hit.summary,
        "relevance": hit.relevance,
        "tags": list(hit.tags),
        "enabled": hit.enabled,
    }
    rendered |= _kind(hit.kind)
    return rendered if why is None else {**rendered, "explanation": _explanation_json(why)}


def short_hit(hit: SearchHit) -> Answer:
    """One hit for a model, without what is the same for nearly all: that a tool is on."""
    rendered = without_empty(hit_json(hit))
    return {key: value for key, value in rendered.items() if key != "enabled" or not value}


def server_json(server: ServerSummary) -> Answer:
    """One server, without how it may be reached."""
    rendered: Answer = {
        "name": server.name,
        "description": server.description,
        "toolCount": server.tool_count,
        "enabledCount": server.enabled_count,
        "status": server.status.state,
    }
    return {**rendered, "waitingForReview": server.waiting_count} if server.waiting_count else rendered


def tool_json(tool: ToolSummary) -> Answer:
    """One tool of a list, with the reason where it may not be used."""
    rendered: Answer = {"name": tool.name, "summary": tool.summary, "enabled": tool.enabled, "tags": list(tool.tags)}
    rendered |= _kind(tool.kind)
    return rendered if tool.enabled else {**rendered, "reason": tool.reason}


def details_json(details: ToolDetails) -> Answer:
    """Everything about a tool, the server's own definition included."""
    rendered: Answer = {
        "server": details.server,
        "tool": details.tool,
        "description": details.description,
        "parameters": [parameter_json(parameter) for parameter in details.parameters],
        "examples": list(details.examples),
        "enabled": details.enabled,
        "tags": list(details.tags),
        "effect": details.effect,
        "definition": dict(details.definition),
    }
    optional = {
        **_kind(details.kind),
        "signature": details.signature,
        "returns": details.returns,
        "madeUpExample": {} if details.examples else details.made_up_example,
        "notChecked": details.not_checked,
        "reason": "" if details.enabled else details.reason,
    }
    return {**rendered, **without_empty(optional)}


def _kind(kind: ItemKind) -> Answer:
    """What something is, where it is not what nearly all are."""
    return {} if kind == "tool" else {"kind": kind}


def parameter_json(parameter: Parameter) -> Answer:
    given = {name: getattr(parameter, name) for name in ("name", "type", "description", "required")}
    limits = {"limits": parameter.limits} if parameter.limits else {}
    return {**given, **limits, **({"default": json.loads(parameter.default)} if parameter.default else {})}


def failure_json(error: ExecutionError) -> Answer:
    """An execution that failed, with what to do next."""
    body = {"code": error.code, "message": error.message, "server": error.server, "tool": error.tool}
    told = without_empty({**body, "hint": error.hint, **error.details})
    # What a tool itself answers passes as it came; our own words may repeat what a client said.
    is_tools = error.code == ToolExecutionError.code
    told = {key: value if is_tools and key not in _NAMED else cleaned(value) for key, value in told.items()}
    return {"success": False, "error": REDACTOR.known_in(told)}


def without_empty(values: Mapping[str, Any]) -> Answer:
    """`values` without empty texts and lists: they cost tokens and say nothing."""
    return {key: value for key, value in values.items() if value not in ("", [], (), {}, None)}


def _explanation_json(why: Explanation) -> Answer:
    words = [{"word": match.word, "fields": list(match.fields), "kin": match.is_kin} for match in why.words]
    told: Answer = {"named": why.is_named, "words": words, "closeness": why.closeness}
    return {**told, "spelled": why.spelled} if why.spelled else told
