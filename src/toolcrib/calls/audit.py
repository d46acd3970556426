"""Every execution leaves one line, refusals included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolcrib.calls.audit_log import ABANDONED, INPUT_REQUIRED, SUCCEEDED, TASK_BEGUN, AuditLog, AuditRecord
from toolcrib.calls.chain import CallTool
from toolcrib.errors import ToolcribError
from toolcrib.model.call import ToolCall, ToolResult


class Audit:
    """Writes who called what, how it ended and how long it took; names of arguments, never their values."""

    def __init__(self, audit_log: AuditLog, *, now: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._log = audit_log
        self._now = now
        self._monotonic = monotonic

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        started, outcome, size, asked = self._monotonic(), "INTERNAL_ERROR", 0, 0
        client = call.conversation
        try:
            result = await call_next(call)
            outcome, size, asked = _outcome(result), len(result.raw), _questions_in(result)
        except ToolcribError as error:
            outcome = error.code
            raise
        except asyncio.CancelledError:
            outcome = "CANCELLED"
            raise
        finally:
            if client is not None:
                outcome = ABANDONED if client.is_away else outcome
                asked += client.questions
            self._log.append(self._record(call, outcome, self._monotonic() - started, size, asked))
        return result

    def _record(self, call: ToolCall, outcome: str, seconds: float, size: int, questions: int) -> AuditRecord:
        return AuditRecord(
            time=self._now(),
            caller=call.caller.shown,
            face=call.caller.face,
            server=call.server,
            tool=call.tool,
            argument_names=tuple(call.arguments),
            outcome=outcome,
            duration_ms=round(seconds * 1000, 3),
            argument_bytes=len(call.raw_arguments),
            result_bytes=size,
            questions=questions,
        )


def _outcome(result: ToolResult) -> str:
    if result.is_task:
        return TASK_BEGUN
    if not result.is_complete:
        return INPUT_REQUIRED
    return "TOOL_EXECUTION_ERROR" if result.is_error else SUCCEEDED


def _questions_in(result: ToolResult) -> int:
    """How many questions a client is to answer before it calls again."""
    asked = None if result.is_complete else result.member("inputRequests")
    return len(asked) if isinstance(asked, dict) else 0
