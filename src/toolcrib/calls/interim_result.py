"""What a server may answer in place of a tool's result: questions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcrib.errors import ClientCannotAnswer, ToolExecutionError
from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.model.asking import KIND_OF, Question
from toolcrib.model.call import ToolResult

INPUT_REQUIRED = "input_required"
SHOWN_CHARACTERS = 200
MOST_SHOWN = 5
MAX_DETAIL_BYTES = 4_096
MOST_STATE_BYTES = 64 * 1024

_INPUT_HINT = (
    "If the tool takes what it asks for as arguments, give it there; otherwise use a client that can be asked."
)


class _Asked(msgspec.Struct):
    method: Any = None
    params: msgspec.Raw = msgspec.Raw(b"{}")


_questions = msgspec.json.Decoder(dict[str, _Asked]).decode


@dataclass(frozen=True, slots=True)
class InterimResult:
    """Questions by the keys that their answers need, and the state that the next attempt brings back."""

    questions: Mapping[str, Question]
    state: str | None


def read_interim(result: ToolResult, server: str) -> InterimResult:
    """What a server asks in place of an answer; raises ToolExecutionError for any other kind of result, and a broken one."""
    kind = result.result_type
    if kind != INPUT_REQUIRED:
        raise _not_a_result(kind, server)
    state, questions = result.member("requestState"), read_questions(result, server)
    if not isinstance(state, str | None) or not (questions or state):
        raise _unreadable(server)
    if state is not None and len(state) > MOST_STATE_BYTES:
        raise ToolExecutionError(
            f"the state that the server gave has more than {MOST_STATE_BYTES} bytes", server=server
        )
    return InterimResult(questions, state)


def read_questions(result: ToolResult, server: str) -> Mapping[str, Question]:
    """The questions in a result by their keys; raises ToolExecutionError where they can't be read."""
    try:
        asked = _questions(result.members.get("inputRequests", b"{}"))
    except (msgspec.DecodeError, RecursionError):
        raise _unreadable(server) from None
    if not all(isinstance(one.method, str) and one.method in KIND_OF for one in asked.values()):
        raise _unreadable(server)
    return {key: Question(server, one.method, bytes(one.params)) for key, one in asked.items()}


def with_questions(result: ToolResult, questions: Mapping[str, Question]) -> ToolResult:
    """The same interim result with these questions in it."""
    asked = {key: {"method": one.method, "params": msgspec.Raw(one.params)} for key, one in questions.items()}
    members = {**result.members, "inputRequests": msgspec.Raw(msgspec.json.encode(asked))}
    return ToolResult(msgspec.json.encode(members))


def unanswerable(result: ToolResult, questions: Mapping[str, Question]) -> ClientCannotAnswer:
    """The failure of a call whose client can't answer these questions."""
    wants = list(_in_words(questions.values()))
    more = f"; and {len(wants) - MOST_SHOWN} more" if len(wants) > MOST_SHOWN else ""
    return ClientCannotAnswer(
        f"the server needs input before it can answer: {'; '.join(wants[:MOST_SHOWN])}{more}",
        needs=sorted({question.kind for question in questions.values()}),
        hint=_INPUT_HINT,
        resultType=INPUT_REQUIRED,
        **_bounded(inputRequests=result.member("inputRequests")),
    )


def _unreadable(server: str) -> ToolExecutionError:
    return ToolExecutionError("the server asks for input in a form that can't be read", server=server)


def _not_a_result(kind: str, server: str) -> ToolExecutionError:
    shown = kind[:SHOWN_CHARACTERS]
    message = f"the server answered with a result of the kind {shown!r}, which this gateway can't pass on"
    return ToolExecutionError(message, server=server, hint=OUTCOME_UNKNOWN, resultType=shown)


def _bounded(**details: Any) -> dict[str, Any]:
    return {name: value for name, value in details.items() if len(msgspec.json.encode(value)) <= MAX_DETAIL_BYTES}


def _in_words(questions: Any) -> Iterator[str]:
    for question in questions:
        if question.kind == "elicitation":
            yield f"it asks the user {_shown(_message(question))}"
        elif question.kind == "sampling":
            yield "it asks the client's model for an answer"
        else:
            yield "it asks for the client's root folders"


def _message(question: Question) -> str:
    try:
        given = msgspec.json.decode(question.params)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return str(given.get("message", "")) if isinstance(given, Mapping) else ""


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)[:SHOWN_CHARACTERS]
