"""What a client asks about a task that it waits for itself: questions in it are shown as in any other call."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.calls.chain import CallTool
from toolcrib.calls.interim_result import read_questions, with_questions
from toolcrib.calls.question_rules import QuestionRules
from toolcrib.errors import ToolExecutionError
from toolcrib.model.asking import Question, QuestionRefused, can_answer
from toolcrib.model.call import ToolCall, ToolResult


class GuardTasks:
    """Lets a task ask only what its client can answer and its server may ask, under the server's name."""

    def __init__(self, rules_of: Callable[[ToolCall], QuestionRules]) -> None:
        self._rules_of = rules_of

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        result = await call_next(call)
        if not result.is_object or "inputRequests" not in result.members:
            return result
        questions = read_questions(result, call.server)
        shown = {key: self._shown(call, question) for key, question in questions.items()}
        return result if shown == questions else with_questions(result, shown)

    def _shown(self, call: ToolCall, question: Question) -> Question:
        rules, client = self._rules_of(call), call.conversation
        capabilities = rules.permitted({} if client is None else client.capabilities)
        # Nobody could be asked for permission here; such a task is awaited for its client.
        is_unasked = question.kind == "sampling" and rules.sampling != "allow"
        if is_unasked or not can_answer(capabilities, question):
            raise ToolExecutionError(
                f"the task asks something that is not passed on to this client ({question.kind})", server=call.server
            )
        try:
            return rules.shown(question)
        except QuestionRefused as refusal:
            raise ToolExecutionError(
                f"the task asks something that is not passed on: {refusal.message}", server=call.server
            ) from None
