"""Arguments are checked against the tool's own schema before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from toolcrib.calls.chain import CallTool
from toolcrib.errors import InvalidArguments, Problem
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.clean_text import clean
from toolcrib.model.nesting import deeper_than
from toolcrib.schema.coerce import put_right
from toolcrib.schema.validate import ArgumentChecker
from toolcrib.wire.duplicate_names import name_there_twice

log = logging.getLogger(__name__)

# A text may hold an object in which texts stand for values again, and a verdict tells only so many at once.
MOST_CORRECTIONS = 8


class ValidateArguments:
    """Refuses arguments that do not fit, saying which field and why; a value that was only written as a text is taken."""

    def __init__(self, checker: ArgumentChecker, max_nesting: Callable[[], int]) -> None:
        self._checker = checker
        self._max_nesting = max_nesting
        self._reported: set[str] = set()

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        self._check_nesting(call)
        self._check_names(call)
        return await call_next(call if call.target is None else self._fitting(call))

    def _fitting(self, call: ToolCall) -> ToolCall:
        """The call with arguments that fit: its own, or those that its texts stand for."""
        schema = call.target.tool.accepts if call.target is not None else {}
        _check_spellings(schema, call.arguments)
        verdict = self._checker.check(schema, call.arguments)
        for _ in range(MOST_CORRECTIONS):
            if not verdict.problems or not verdict.meant:
                break
            log.debug(
                "%s:%s: %d arguments were read as what they stand for", call.server, call.tool, len(verdict.meant)
            )
            raw = put_right(call.raw_arguments, verdict.meant)
            call = call.but(raw_arguments=raw, arguments=msgspec.json.decode(raw))
            self._check_nesting(call)
            verdict = self._checker.check(schema, call.arguments)
        if verdict.problems:
            raise InvalidArguments(verdict.problems, hint="get_tool_details shows the parameters.")
        if verdict.not_checked and call.target is not None:
            self._report(call.target.tool.id, verdict.not_checked)
        return call

    def _check_nesting(self, call: ToolCall) -> None:
        most = self._max_nesting()
        if deeper_than(call.arguments, most):
            raise InvalidArguments([Problem("arguments", f"nested deeper than {most} levels")])

    def _check_names(self, call: ToolCall) -> None:
        """What is checked here must be what the server reads: some readers take the first value of a name, some the last."""
        name = name_there_twice(call.raw_arguments, call.arguments)
        if name is not None:
            raise InvalidArguments([Problem("arguments", f"the name {clean(name)[:64]!r} is in one object twice")])

    def _report(self, tool: str, reason: str) -> None:
        """Say it once of a tool: it may be called a thousand times."""
        if tool not in self._reported:
            self._reported.add(tool)
            log.warning("%s: cannot validate arguments (%s); passing them on unchecked", tool, reason)


def _check_spellings(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse a name that the tool does not have, beside one that it has and that differs in upper and lower case alone.

    A server whose reader does not tell these apart would take either.
    """
    declared = schema.get("properties")
    if not isinstance(declared, Mapping) or arguments.keys() <= declared.keys():
        return
    given = {name.casefold() for name in arguments if name in declared}
    second = next((name for name in arguments if name not in declared and name.casefold() in given), None)
    if second is not None:
        shown = clean(second)[:64]
        raise InvalidArguments([Problem("arguments", f"the name {shown!r} is there in other letters as well")])
