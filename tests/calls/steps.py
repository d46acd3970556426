"""Small parts for driving one step of the chain at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes import spec, text
from tests.showroom import Showroom
from toolcrib.calls.chain import Step
from toolcrib.errors import ToolcribError
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.reading import Identity
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_rule import ToolRule
from toolcrib.workspace.catalog_view import CatalogView

Outcome = ToolResult | Exception


def a_call(server: str = "files", name: str = "read", arguments: dict[str, Any] | None = None, **more: Any) -> ToolCall:
    return ToolCall(server, name, arguments or {}, b"{}", **more)


def aimed(definition: dict[str, Any], arguments: dict[str, Any] | None = None) -> ToolCall:
    """A call that was admitted to a tool of this definition."""
    target = Target(Tool.from_mcp("files", definition), definition["name"], spec("files"))
    return a_call(name=definition["name"], arguments=arguments, target=target)


class Upstream:
    """Answers each call with the next of its outcomes, the last one for ever, and remembers what reached it."""

    def __init__(self, *outcomes: Outcome) -> None:
        self._outcomes = list(outcomes) or [ToolResult.of(text("done"))]
        self.calls: list[ToolCall] = []
        self.during: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        if self.during is not None:
            await self.during()
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def through(step: Step, call: ToolCall, upstream: Upstream) -> ToolResult:
    return await step(call, call_next=upstream)


class Readings:
    """Nobody needs to be read, unless a failure was given."""

    def __init__(self, failure: ToolcribError | None = None) -> None:
        self.asked: list[str] = []
        self._failure = failure

    async def need(self, spec: ServerSpec) -> None:
        self.asked.append(spec.name)

    def expire_older(self, spec: ServerSpec, seconds: float) -> None:
        """Nothing is that old."""

    def unread_failure(self, _: ServerSpec) -> ToolcribError | None:
        return self._failure


def visible(
    *definitions: dict[str, Any], rules: tuple[ToolRule, ...] = (), entry: ServerSpec | None = None
) -> CatalogView:
    """A view with one server, `files`, that offers these tools."""
    entry = entry or spec("files")
    showroom = Showroom(entry, rules=rules)
    if definitions:
        showroom.save(*definitions, entry=entry, identity=Identity("modern", "2026-07-28"))
    return showroom.view


CALLER = Caller("agent", "stdio", "stdio:agent")
