"""Answers of the meta-tools as compact JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolcrib.model.call import ExecutionError
from toolcrib.model.view import SearchAnswer, SearchHit

encode = msgspec.json.Encoder().encode


def search(answer: SearchAnswer) -> dict[str, Any]:
    # One list on the wire: where nothing fits, the note says so and the neighbours may still help.
    rendered: dict[str, Any] = {"results": [_hit(hit) for hit in answer.hits or answer.nearest]}
    if answer.note:
        rendered["note"] = answer.note
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


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` without empty texts and lists: they cost tokens and say nothing."""
    return {key: value for key, value in values.items() if value not in ("", [], (), None)}
