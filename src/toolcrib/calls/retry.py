"""A call is repeated only where that can't do harm."""

from __future__ import annotations

import logging

from toolcrib.calls.chain import CallTool
from toolcrib.errors import ServerConnectionError
from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.model.call import ToolCall, ToolResult

log = logging.getLogger(__name__)


class Retry:
    """Once more when the call was never sent, or the tool says that running it twice changes nothing."""

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        try:
            return await call_next(call)
        except ServerConnectionError as error:
            if _may_have_run(error, call):
                error.hint = f"{OUTCOME_UNKNOWN} {error.hint}".rstrip()
                raise
            log.info("%s:%s: trying once more after: %s", call.server, call.tool, error.message)
        return await call_next(call)


def _may_have_run(error: ServerConnectionError, call: ToolCall) -> bool:
    # A person or a model has answered something for this attempt: nobody is asked the same twice.
    was_asked = call.round is not None or (call.conversation is not None and call.conversation.was_asked)
    return error.sent and (was_asked or not _is_repeatable(call))


def _is_repeatable(call: ToolCall) -> bool:
    if call.task is not None:
        return call.task.method == "tasks/get"
    hints = call.target.tool.annotations if call.target is not None else {}
    return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True
