"""Arguments are checked against the tool's own schema before anything is sent."""

from __future__ import annotations

import logging

from toolcrib.calls.chain import CallTool
from toolcrib.errors import InvalidArguments, Problem
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.nesting import deeper_than
from toolcrib.schema.validate import ArgumentChecker

log = logging.getLogger(__name__)


class CheckArguments:
    """Refuses arguments that do not fit, saying which field and why."""

    def __init__(self, checker: ArgumentChecker, max_nesting: int) -> None:
        self._checker = checker
        self._max_nesting = max_nesting
        self._reported: set[str] = set()

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        if deeper_than(call.arguments, self._max_nesting):
            raise InvalidArguments([Problem("arguments", f"nested deeper than {self._max_nesting} levels")])
        if call.target is not None:
            verdict = self._checker.check(call.target.tool.input_schema, call.arguments)
            if verdict.problems:
                raise InvalidArguments(verdict.problems, hint="get_tool_details shows the parameters.")
            if verdict.not_checked:
                self._report(call.target.tool.id, verdict.not_checked)
        return await call_next(call)

    def _report(self, tool: str, reason: str) -> None:
        """Say it once of a tool: it may be called a thousand times."""
        if tool not in self._reported:
            self._reported.add(tool)
            log.warning("%s: its arguments can't be checked and are passed on as they are: %s", tool, reason)
