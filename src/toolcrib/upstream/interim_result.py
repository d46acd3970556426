"""What a server may answer in place of a tool's result: a question, or a task. Neither can be passed on so far."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from toolcrib.errors import ToolExecutionError
from toolcrib.model.call import ToolResult

SHOWN_CHARACTERS = 200
MOST_QUESTIONS = 5
MAX_DETAIL_BYTES = 4_096

_TASK_HINT = "Outcome unknown: the task may be running on the server. Check before running the tool again."
_INPUT_HINT = "If the tool takes what it asks for as arguments, give it there; otherwise use this server directly."


def refuse_interim(result: ToolResult, server: str) -> None:
    """Raise ToolExecutionError unless this is the tool's result, saying what the server wants."""
    kind = result.result_type
    if kind == "complete":
        return
    if kind == "input_required":
        asked = result.member("inputRequests")
        raise _refusal(server, kind, _needs_input(asked), _INPUT_HINT, inputRequests=asked)
    if kind == "task":
        task = _task(result)
        raise _refusal(server, kind, _started_task(task), _TASK_HINT, task=task)
    message = (
        f"the server answered with a result of the kind {kind[:SHOWN_CHARACTERS]!r}, which this gateway can't pass on"
    )
    raise _refusal(server, kind, message, "")


def _refusal(server: str, kind: str, message: str, hint: str, **details: Any) -> ToolExecutionError:
    kept = {name: value for name, value in details.items() if len(msgspec.json.encode(value)) <= MAX_DETAIL_BYTES}
    return ToolExecutionError(message, server=server, hint=hint, resultType=kind[:SHOWN_CHARACTERS], **kept)


def _needs_input(asked: object) -> str:
    questions = list(_questions(asked))
    if not questions:
        return "the server wants to be asked again later for the result, which this gateway can't do yet"
    more = f"; and {len(questions) - MOST_QUESTIONS} more" if len(questions) > MOST_QUESTIONS else ""
    wants = "; ".join(questions[:MOST_QUESTIONS])
    return f"the server needs input before it can answer, which this gateway can't pass on yet: {wants}{more}"


def _questions(asked: object) -> Iterator[str]:
    for request in asked.values() if isinstance(asked, Mapping) else ():
        if not isinstance(request, Mapping):
            continue
        method, params = request.get("method"), request.get("params")
        given: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
        if method == "elicitation/create":
            yield f"it asks the user {_shown(given.get('message', ''))}"
        elif method == "sampling/createMessage":
            yield "it asks the client's model for an answer"
        elif method == "roots/list":
            yield "it asks for the client's root folders"
        else:
            yield f"it asks for {_shown(method)}"


def _task(result: ToolResult) -> Mapping[str, Any]:
    """What is known of the task, which some servers put beside the result type and some into a member of its own."""
    nested = result.member("task")
    found = nested if isinstance(nested, Mapping) else {name: result.member(name) for name in ("taskId", "status")}
    return {name: value for name, value in found.items() if value is not None}


def _started_task(task: Mapping[str, Any]) -> str:
    known = ", ".join(f"{name} {_shown(task[name])}" for name in ("taskId", "status") if name in task)
    named = f" ({known})" if known else ""
    return f"the server started a task{named} in place of an answer, and this gateway can't wait for tasks yet"


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)[:SHOWN_CHARACTERS]
