"""What servers ask in the middle of a call reaches the client only where it can answer, and not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from toolcrib.calls.chain import CallTool
from toolcrib.calls.consents import Consents, consent_of
from toolcrib.calls.interim_result import read_interim, with_questions
from toolcrib.calls.question_rules import SESSION, QuestionRules, allowed_by
from toolcrib.errors import ClientCannotAnswer, ToolExecutionError
from toolcrib.model.asking import (
    Conversation,
    Question,
    QuestionKind,
    QuestionRefused,
    can_answer,
    counted,
    declares_tasks,
    pages_in,
)
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from toolcrib.wire.protocol import MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED

MOST_QUESTIONS = 20
MOST_AT_ONCE = 8
MOST_QUESTION_BYTES = 64 * 1024

# What the protocol has for a person who says no to a server that wants to use the model.
REJECTED = -1

_NO_FOLDERS = b'{"roots":[]}'
_NOT_ANSWERED = b'{"action":"cancel"}'
_ASKS: dict[QuestionKind, str] = {
    "elicitation": "asks the person something",
    "sampling": "asks for an answer of your client's model",
    "roots": "asks for your client's folders",
}


class GuardQuestions:
    """Stands between the servers' questions and the client; a call that fails for want of an answer says so."""

    def __init__(self, rules_of: Callable[[ToolCall], QuestionRules], answer_seconds: Callable[[], float]) -> None:
        self._rules_of = rules_of
        self._answer_seconds = answer_seconds
        self._consents = Consents()

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        rules = self._rules_of(call)
        consent = consent_of(call)
        guarded = GuardedConversation(
            call.conversation or NOBODY, rules, self._answer_seconds(), partial(self._consents.add, consent)
        )
        guarded.has_consent = consent in self._consents
        try:
            result = await call_next(call.but(conversation=guarded))
        except ToolExecutionError as error:
            if error.rpc_code == MISSING_REQUIRED_CLIENT_CAPABILITY and not guarded.takes_rounds:
                raise _lacking(error) from error
            if error.rpc_code == URL_ELICITATION_REQUIRED and guarded.knows_url_errors:
                _show_pages(error, rules)
            error.hint = f"{error.hint} {guarded.excuse}".strip()
            raise
        if result.is_task:
            return result
        if not result.is_complete:
            return await _relayed(result, guarded, call.server)
        if result.is_error and guarded.unanswered:
            message = result.text or "the tool failed without a message"
            raise ClientCannotAnswer(message, needs=sorted(guarded.unanswered), hint=guarded.excuse)
        return result


async def _relayed(result: ToolResult, guarded: GuardedConversation, server: str) -> ToolResult:
    """An interim result for a client that answers it itself, with its questions as the client may see them."""
    interim = read_interim(result, server)
    try:
        shown = {key: await guarded.admitted(question) for key, question in interim.questions.items()}
    except QuestionRefused as refusal:
        raise ToolExecutionError(
            f"the server asked something that is not passed on: {refusal.message}", server=server
        ) from None
    return result if shown == interim.questions else with_questions(result, shown)


def _show_pages(error: ToolExecutionError, rules: QuestionRules) -> None:
    """Have the pages that an error tells a client to open pass the checks of any other question; raises ToolExecutionError."""
    data = error.details.get("data")
    pages = pages_in(data)
    try:
        if rules.elicitation == "deny":
            raise QuestionRefused(METHOD_NOT_FOUND, "its entry does not allow it to ask the person")
        if len(pages) > MOST_QUESTIONS:
            raise QuestionRefused(INVALID_PARAMS, f"a call may ask {MOST_QUESTIONS} questions")
        shown = [rules.shown_page(page) for page in pages]
    except QuestionRefused as refusal:
        message = f"{error.message} (the server wants pages opened that are not passed on: {refusal.message})"
        raise ToolExecutionError(message, server=error.server) from error
    if isinstance(data, Mapping):
        error.details["data"] = {**data, "elicitations": shown}


class _Nobody(Conversation):
    """Whoever called can't be asked anything."""

    capabilities: dict[str, object] = {}  # noqa: RUF012 - never changed

    async def ask(self, question: Question) -> bytes:
        raise QuestionRefused(METHOD_NOT_FOUND, f"nobody can be asked: {question.kind}")


NOBODY = _Nobody()


class GuardedConversation(Conversation):
    """A conversation with limits; what its client can't answer, or the server may not ask, is refused without a question to it."""

    def __init__(
        self,
        client: Conversation,
        rules: QuestionRules,
        answer_seconds: float,
        on_consent: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._rules = rules
        self._answer_seconds = answer_seconds
        self._on_consent = on_consent
        self._asked = 0
        self._open = 0
        self.capabilities = rules.permitted(client.capabilities)
        self.takes_rounds = client.takes_rounds
        self.knows_url_errors = client.knows_url_errors
        # A task that may want the model is awaited for its client, since the person has to be asked first.
        needs_consent = "sampling" in self.capabilities and rules.sampling != "allow"
        self.takes_tasks = client.takes_rounds and declares_tasks(client.capabilities) and not needs_consent
        # Whether the person has allowed the server to use the model, for longer than once.
        self.has_consent = False
        # What the server wanted to know and nobody told.
        self.unanswered: set[QuestionKind] = set()

    @property
    def excuse(self) -> str:
        """Why the call may have failed, in words for whoever made it."""
        asks = " and ".join(_ASKS[kind] for kind in sorted(self.unanswered))
        if not asks:
            return ""
        denied = sorted(self.unanswered.intersection(self._client.capabilities))
        why = (
            f"its entry or the settings do not allow that ({', '.join(denied)})"
            if denied
            else "your client can't be asked"
        )
        return f"This tool {asks}, and {why}."

    async def ask(self, question: Question) -> bytes:
        if not can_answer(self.capabilities, question):
            return self._without_client(question)
        return await self._put(await self.admitted(question))

    def tell(self, method: str, params: bytes) -> None:
        self._client.tell(method, params)

    async def admitted(self, question: Question) -> Question:
        """The question as the client gets it, once it counts and the person has agreed, where that is needed."""
        self._count(question)
        shown = self._rules.shown(question)
        if question.kind == "sampling" and self._rules.sampling == "ask" and not self.has_consent:
            allowed = allowed_by(await self._put(self._rules.consent(question)))
            if not allowed:
                raise QuestionRefused(REJECTED, "the person did not allow it")
            if allowed == SESSION:
                self.has_consent = True
                self._on_consent()
        return shown

    async def _put(self, question: Question) -> bytes:
        """The client's answer, within the time that it has."""
        self._open += 1
        try:
            with counted(self._client):
                async with asyncio.timeout(self._answer_seconds):
                    answer = await self._client.ask(question)
        except TimeoutError:
            return _unanswered(question, self._answer_seconds)
        finally:
            self._open -= 1
        self.was_asked = True
        return answer

    def _without_client(self, question: Question) -> bytes:
        if question.kind == "roots":
            return _NO_FOLDERS
        self.unanswered.add(question.kind)
        raise QuestionRefused(METHOD_NOT_FOUND, f"the client that runs this tool has no {question.kind} for this")

    def _count(self, question: Question) -> None:
        if len(question.params) > MOST_QUESTION_BYTES:
            raise QuestionRefused(INVALID_PARAMS, f"a question may have {MOST_QUESTION_BYTES} bytes")
        if self._asked >= MOST_QUESTIONS or self._open >= MOST_AT_ONCE:
            limits = f"{MOST_QUESTIONS} questions, {MOST_AT_ONCE} of them at once"
            raise QuestionRefused(INVALID_PARAMS, f"a call may ask {limits}")
        self._asked += 1


def _lacking(error: ToolExecutionError) -> ClientCannotAnswer:
    """What a server says to a client that has not declared what the tool needs."""
    data = error.details.get("data")
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    needs = sorted(required) if isinstance(required, dict) else []
    return ClientCannotAnswer(error.message, needs=needs, hint="Use a client that has what this tool needs.")


def _unanswered(question: Question, seconds: float) -> bytes:
    if question.kind == "elicitation":
        return _NOT_ANSWERED
    raise QuestionRefused(INTERNAL_ERROR, f"there was no answer within {seconds:g} s")
