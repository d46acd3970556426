"""What servers ask in the middle of a call reaches the client only where it can answer, and not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from toolcrib.calls.chain import CallTool
from toolcrib.errors import ClientCannotAnswer, ToolExecutionError
from toolcrib.model.asking import Conversation, Question, QuestionKind, QuestionRefused, can_answer
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from toolcrib.wire.protocol import MISSING_REQUIRED_CLIENT_CAPABILITY

MOST_QUESTIONS = 20
MOST_AT_ONCE = 8
MOST_QUESTION_BYTES = 64 * 1024

_NO_FOLDERS = b'{"roots":[]}'
_NOT_ANSWERED = b'{"action":"cancel"}'
_ASKS: dict[QuestionKind, str] = {
    "elicitation": "asks the person something",
    "sampling": "asks for an answer of your client's model",
    "roots": "asks for your client's folders",
}


class GuardQuestions:
    """Stands between the servers' questions and the client; a call that fails for want of an answer says so."""

    def __init__(self, answer_seconds: Callable[[], float]) -> None:
        self._answer_seconds = answer_seconds

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        guarded = GuardedConversation(call.conversation or NOBODY, self._answer_seconds())
        try:
            result = await call_next(replace(call, conversation=guarded))
        except ToolExecutionError as error:
            if error.rpc_code == MISSING_REQUIRED_CLIENT_CAPABILITY and not guarded.takes_rounds:
                raise _lacking(error) from error
            error.hint = f"{error.hint} {guarded.excuse}".strip()
            raise
        if result.is_error and guarded.unanswered:
            raise ClientCannotAnswer(
                result.text or "the tool failed without a message",
                needs=sorted(guarded.unanswered),
                hint=guarded.excuse,
            )
        return result


class _Nobody(Conversation):
    """Whoever called can't be asked anything."""

    capabilities: dict[str, object] = {}  # noqa: RUF012 - never changed

    async def ask(self, question: Question) -> bytes:
        raise QuestionRefused(METHOD_NOT_FOUND, f"nobody can be asked: {question.kind}")


NOBODY = _Nobody()


class GuardedConversation(Conversation):
    """A conversation with limits; what its client can't answer is refused without a question to it."""

    def __init__(self, client: Conversation, answer_seconds: float) -> None:
        self._client = client
        self._answer_seconds = answer_seconds
        self._asked = 0
        self._open = 0
        self.capabilities = client.capabilities
        self.takes_rounds = client.takes_rounds
        # What the server wanted to know and the client can't tell.
        self.unanswered: set[QuestionKind] = set()

    @property
    def excuse(self) -> str:
        """Why the call may have failed, in words for whoever made it."""
        asks = " and ".join(_ASKS[kind] for kind in sorted(self.unanswered))
        return f"This tool {asks}, and your client can't be asked." if asks else ""

    async def ask(self, question: Question) -> bytes:
        if not can_answer(self.capabilities, question):
            return self._without_client(question)
        self._count(question)
        self._open += 1
        try:
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
