"""Answers of the meta-tools as compact JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolcrib.answers import SWITCHED_OFF
from toolcrib.model.call import ExecutionError
from toolcrib.model.view import SearchAnswer, SearchHit, ServerSummary, ToolDetails, ToolSummary

MANY_SERVERS = 30
MANY_TOOLS = 50
LONGEST_DESCRIPTION = 2_000

encode = msgspec.json.Encoder().encode


def servers(found: Sequence[ServerSummary], *, enabled: bool) -> dict[str, Any]:
    answer: dict[str, Any]
    if len(found) > MANY_SERVERS:
        answer = {"servers": [_short_server(server) for server in found]}
        answer["note"] = "Descriptions left out; search_tools finds a tool on any server."
    else:
        answer = {"servers": [_server(server) for server in found]}
    if not enabled:
        answer["note"] = SWITCHED_OFF
    elif not found:
        answer["note"] = "No server is configured yet."
    return answer


def search(answer: SearchAnswer) -> dict[str, Any]:
    rendered: dict[str, Any] = {"results": [_hit(hit) for hit in answer.hits]}
    if answer.note:
        rendered["note"] = answer.note
    return rendered


def tools(server: str, found: Sequence[ToolSummary], trouble: str = "") -> dict[str, Any]:
    if len(found) <= MANY_TOOLS:
        listed = {"server": server, "tools": [_tool(tool) for tool in found]}
        return {**listed, "note": trouble} if trouble else listed
    return {
        "server": server,
        "tools": [{"name": tool.name, "enabled": tool.enabled} for tool in found],
        "note": "Summaries left out; use search_tools with this server, or get_tool_details.",
    }


def details(found: ToolDetails) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "server": found.server,
        "tool": found.tool,
        "description": _bounded(found.description),
        "parameters": [_without_empty(_parameter(parameter)) for parameter in found.parameters],
    }
    optional = {"signature": found.signature, "examples": list(found.examples), "returns": found.returns}
    rendered.update(_without_empty(optional))
    if found.not_checked:
        rendered["notChecked"] = f"arguments are not checked before the call: {found.not_checked}"
    if not found.enabled:
        rendered["enabled"] = False
    return rendered


def failure(error: ExecutionError) -> dict[str, Any]:
    body = {"code": error.code, "message": error.message, "server": error.server, "tool": error.tool}
    return {"success": False, "error": _without_empty({**body, "hint": error.hint, **error.details})}


def text_result(answer: Mapping[str, Any], *, is_error: bool = False) -> dict[str, msgspec.Raw]:
    """A tool result of one text block that holds `answer`."""
    return text_members(encode(answer), is_error=is_error)


def text_members(json_text: bytes, *, is_error: bool = False) -> dict[str, msgspec.Raw]:
    content = b'[{"type":"text","text":%b}]' % encode(json_text.decode())
    members = {"content": msgspec.Raw(content)}
    if is_error:
        members["isError"] = msgspec.Raw(b"true")
    return members


def _server(server: ServerSummary) -> dict[str, Any]:
    rendered = {
        "name": server.name,
        "description": server.description,
        "toolCount": server.tool_count,
        "enabledCount": server.enabled_count,
        "status": server.status.state,
    }
    if server.status.state == "error":
        rendered["reason"] = server.status.reason[:200]
    return rendered


def _short_server(server: ServerSummary) -> dict[str, Any]:
    short = {"name": server.name, "toolCount": server.tool_count, "enabledCount": server.enabled_count}
    # A broken server is worth its tokens also in a long list.
    return short | ({"status": "error"} if server.status.state == "error" else {})


def _hit(hit: SearchHit) -> dict[str, Any]:
    return _without_empty(
        {
            "server": hit.server,
            "tool": hit.tool,
            "summary": hit.summary,
            "relevance": hit.relevance,
            "tags": list(hit.tags),
        }
    )


def _tool(tool: ToolSummary) -> dict[str, Any]:
    return _without_empty(
        {"name": tool.name, "summary": tool.summary, "enabled": tool.enabled, "tags": list(tool.tags)}
    )


def _parameter(parameter: Any) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "type": parameter.type,
        "description": parameter.description,
        "required": parameter.required,
    }


def _bounded(description: str) -> str:
    if len(description) <= LONGEST_DESCRIPTION:
        return description
    return description[:LONGEST_DESCRIPTION] + "… (toolcrib:get_schema has all of it)"


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` without empty texts and lists: they cost tokens and say nothing."""
    return {key: value for key, value in values.items() if value not in ("", [], (), None)}
