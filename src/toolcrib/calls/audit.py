"""Every execution leaves one line, refusals included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolcrib.calls.audit_log import SUCCEEDED, AuditLog, AuditRecord
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
        started, outcome, size = self._monotonic(), "INTERNAL_ERROR", 0
        try:
            result = await call_next(call)
            outcome, size = _outcome(result), len(result.raw)
        except ToolcribError as error:
            outcome = error.code
            raise
        except asyncio.CancelledError:
            outcome = "CANCELLED"
            raise
        finally:
            self._log.append(self._record(call, outcome, self._monotonic() - started, size))
        return result

    def _record(self, call: ToolCall, outcome: str, seconds: float, result_bytes: int) -> AuditRecord:
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
            result_bytes=result_bytes,
        )


def _outcome(result: ToolResult) -> str:
    if not result.is_complete:
        return "INPUT_REQUIRED"
    return "TOOL_EXECUTION_ERROR" if result.is_error else SUCCEEDED
