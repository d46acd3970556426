"""A server of the newest revision asks by an interim result: answered here for callers that don't do it themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import msgspec

from toolcrib.calls.chain import CallTool
from toolcrib.calls.interim_result import InterimResult, read_interim, unanswerable
from toolcrib.errors import CallTimeout, ServerConnectionError, ToolExecutionError
from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.model.asking import Conversation, InputRound, Question, QuestionRefused, can_answer
from toolcrib.model.call import ToolCall, ToolResult

# How long to wait before a server that only said "not yet" is asked again: often at first, then every second.
FIRST_PAUSE_SECONDS = 0.05
SHORT_PAUSE_SECONDS = 0.25
LONG_PAUSE_SECONDS = 1.0
SHORT_PAUSES = 10

_ID = "elicitationId"
_DECLINED = b'{"action":"decline"}'


class AnswerRounds:
    """Asks the client what the server wants to know, and calls again with the answers until there is a result."""

    def __init__(self, most_rounds: Callable[[], int], seconds_of: Callable[[ToolCall], float]) -> None:
        self._most_rounds = most_rounds
        self._seconds_of = seconds_of

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        rounds, polls, polling_until = 0, 0, 0.0
        while True:
            result = await _sent(call, call_next, has_begun=rounds + polls > 0)
            if result.is_complete or _is_relayed(result, call):
                return result
            interim = read_interim(result, call.server)
            self._check(call, result, interim)
            if call.conversation is not None and call.conversation.takes_rounds:
                return result
            now = asyncio.get_running_loop().time()
            if interim.questions:
                rounds, polls = rounds + 1, 0
                self._check_rounds(rounds, call)
                answers = await answers_to(call.conversation, interim.questions)
            else:
                polling_until = polling_until if polls else now + self._seconds_of(call)
                await _pause(polls, polling_until, call)
                polls, answers = polls + 1, None
            call = call.but(round=InputRound(answers, interim.state))

    def _check(self, call: ToolCall, result: ToolResult, interim: InterimResult) -> None:
        capabilities = {} if call.conversation is None else call.conversation.capabilities
        missing = {key: one for key, one in interim.questions.items() if not can_answer(capabilities, one)}
        if missing:
            raise unanswerable(result, missing)

    def _check_rounds(self, rounds: int, call: ToolCall) -> None:
        if rounds > self._most_rounds():
            raise ToolExecutionError(
                f"the server asked {rounds - 1} times in one call and did not answer (questions.rounds)",
                server=call.server,
                hint=OUTCOME_UNKNOWN,
            )


async def _sent(call: ToolCall, call_next: CallTool, *, has_begun: bool) -> ToolResult:
    """What the server answers; a call that it knows of from a round before is not to be made anew."""
    try:
        return await call_next(call)
    except ServerConnectionError as lost:
        if lost.sent or not has_begun:
            raise
        raise ServerConnectionError(lost.message, server=call.server, sent=True, hint=lost.hint) from lost


def _is_relayed(result: ToolResult, call: ToolCall) -> bool:
    is_wanted = call.conversation is not None and call.conversation.takes_tasks
    return is_wanted and result.is_task and isinstance(result.member("taskId"), str)


async def answers_to(client: Conversation | None, questions: Mapping[str, Question]) -> bytes:
    """The answers to all questions of a round, which are asked at once, as the JSON that the server wants."""
    assert client is not None  # nobody has no capabilities
    given = await asyncio.gather(*(_answer(client, question) for question in questions.values()))
    members = (b"%b:%b" % (msgspec.json.encode(key), one) for key, one in zip(questions, given, strict=True))
    return b"{%b}" % b",".join(members)


async def _answer(client: Conversation, question: Question) -> bytes:
    try:
        return await client.ask(_with_id(question))
    except QuestionRefused as refusal:
        if question.kind == "elicitation":
            return _DECLINED
        message = f"the client refused what the server asked for ({question.kind}): {refusal.message}"
        raise ToolExecutionError(message, server=question.server) from refusal


def _with_id(question: Question) -> Question:
    """An address to open has an id in older revisions, which their clients insist on; the newest one knows none."""
    if not question.is_url:
        return question
    params: dict[str, Any] = msgspec.json.decode(question.params)
    if _ID in params:
        return question
    return replace(question, params=msgspec.json.encode({**params, _ID: uuid4().hex}))


async def _pause(polls: int, until: float, call: ToolCall) -> None:
    if asyncio.get_running_loop().time() >= until:
        raise CallTimeout("the server kept saying that it has no result yet", server=call.server, hint=OUTCOME_UNKNOWN)
    short = min(FIRST_PAUSE_SECONDS * 2.0**polls, SHORT_PAUSE_SECONDS)
    await asyncio.sleep(short if polls < SHORT_PAUSES else LONG_PAUSE_SECONDS)
