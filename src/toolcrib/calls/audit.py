"""Every execution leaves one line, refusals included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice

from toolcrib.calls.audit_log import (
    ABANDONED,
    INPUT_REQUIRED,
    MOST_ARGUMENT_NAMES,
    STARTED,
    SUCCEEDED,
    TASK_BEGUN,
    AuditLog,
    AuditRecord,
)
from toolcrib.calls.chain import CallTool
from toolcrib.errors import (
    KEPT_AWAY,
    AuditUnavailable,
    CallDeclined,
    ConfirmationRequired,
    ServerNotFound,
    ToolcribError,
    ToolNotFound,
)
from toolcrib.masking.redactor import REDACTOR
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.caller import EVERYTHING

FINGERPRINT_CHARACTERS = 16
REFUSALS = frozenset(
    error.code for error in (*KEPT_AWAY, ServerNotFound, ToolNotFound, ConfirmationRequired, CallDeclined)
)


class Audit:
    """Writes who called what, how it ended and how long it took; names of arguments, never their values.

    While `is_required`, a line is written before each call too, and a call that can't be written down does not run.
    """

    def __init__(
        self,
        audit_log: AuditLog,
        *,
        now: Callable[[], float],
        monotonic: Callable[[], float],
        is_required: Callable[[], bool] = lambda: False,
    ) -> None:
        self._log = audit_log
        self._now = now
        self._monotonic = monotonic
        self._is_required = is_required

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        if self._is_required() and not self._log.append(self._record(call, STARTED, 0.0, 0, 0)):
            raise AuditUnavailable(
                "The call was not run: it can't be written to the audit log.",
                hint="Toolcrib's own log says why it can't. `audit.onFailure: warn` lets calls run all the same.",
            )
        started, outcome, size, asked = self._monotonic(), "INTERNAL_ERROR", 0, 0
        client = call.conversation
        try:
            result = await call_next(call)
            outcome, size, asked = call.notes.deed or _outcome(result), len(result.raw), _questions_in(result)
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
        server, tool, *argument_names = _names(call)
        return AuditRecord(
            time=self._now(),
            caller=call.caller.shown,
            face=call.caller.face,
            server=server,
            tool=tool,
            argument_names=tuple(argument_names),
            outcome=outcome,
            duration_ms=round(seconds * 1000, 3),
            argument_bytes=len(call.raw_arguments),
            result_bytes=size,
            questions=questions,
            effect=call.notes.effect,
            decision=_decision(call, outcome),
            rights="" if call.caller.rights is EVERYTHING else ", ".join(call.caller.rights.labels),
            fingerprint=call.notes.fingerprint[:FINGERPRINT_CHARACTERS],
            findings=", ".join(call.notes.findings),
        )


def _decision(call: ToolCall, outcome: str) -> str:
    """What was decided about a call before anything was sent; nothing where it failed for another reason."""
    if outcome in REFUSALS:
        return "refused"
    return call.notes.decision or ("allowed" if call.notes.effect else "")


def _names(call: ToolCall) -> Iterable[str]:
    """Server, tool and arguments as they may be kept: one that leads nowhere may be a value in the wrong place."""
    names = (call.server, call.tool, *islice(call.arguments, MOST_ARGUMENT_NAMES))
    if not call.notes.fingerprint:
        return map(REDACTOR.known, names)
    # A call that found its tool is frequent, so nothing is looked for in names that the tool has itself.
    own = call.notes.parameters
    return (*names[:2], *[name if name in own else REDACTOR.known(name) for name in names[2:]])


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
