"""Some tools run as tasks only: they are called as such, and the connection waits for their result."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.calls.chain import CallTool
from toolcrib.errors import ToolExecutionError
from toolcrib.model.asking import TASKS_EXTENSION
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.wire.protocol import MISSING_REQUIRED_CLIENT_CAPABILITY


class AsTask:
    """Says so with the call where the tool's definition wants it, or where the server refuses it for want of it."""

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        if _is_required(call):
            return await call_next(call.but(as_task=True))
        try:
            return await call_next(call)
        except ToolExecutionError as refusal:
            if not _wants_tasks(refusal):
                raise
        return await call_next(call.but(as_task=True))


def _is_required(call: ToolCall) -> bool:
    execution = None if call.target is None else call.target.tool.definition.get("execution")
    return isinstance(execution, Mapping) and execution.get("taskSupport") == "required"


def _wants_tasks(refusal: ToolExecutionError) -> bool:
    """Whether a server says that it would have to answer with a task, and the client has not said that it takes one."""
    data = refusal.details.get("data")
    required = data.get("requiredCapabilities") if isinstance(data, Mapping) else None
    extensions = required.get("extensions") if isinstance(required, Mapping) else None
    is_missing = refusal.rpc_code == MISSING_REQUIRED_CLIENT_CAPABILITY
    return is_missing and isinstance(extensions, Mapping) and TASKS_EXTENSION in extensions
