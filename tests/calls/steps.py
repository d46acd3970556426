"""Small parts for driving one step of the chain at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes import Clock, spec, text, tool
from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.calls.chain import Step
from toolcrib.catalog.freshness import Freshness
from toolcrib.errors import ToolcribError
from toolcrib.model.call import Caller, Target, ToolCall, ToolResult
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_rule import ToolRule
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.catalog_view import CatalogView

Outcome = ToolResult | Exception


def a_call(server: str = "files", name: str = "read", arguments: dict[str, Any] | None = None, **more: Any) -> ToolCall:
    return ToolCall(server, name, arguments or {}, b"{}", **more)


def aimed(definition: dict[str, Any], arguments: dict[str, Any] | None = None) -> ToolCall:
    """A call that was admitted to a tool of this definition."""
    target = Target(Tool.from_mcp("files", definition), definition["name"])
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

    async def need(self, server: str) -> None:
        self.asked.append(server)

    def unread_failure(self, _: str) -> ToolcribError | None:
        return self._failure


def visible(
    *definitions: dict[str, Any], rules: tuple[ToolRule, ...] = (), entry: ServerSpec | None = None
) -> CatalogView:
    """A view with one server, `files`, that offers these tools."""
    entry = entry or spec("files")
    view = CatalogView(
        MemoryCatalog(), now=Clock(), cache_seconds=3600.0, freshness=Freshness(), built_in=BUILT_IN_TOOLS
    )
    view.configure([entry], RuleBook(rules))
    if definitions:
        view.save(entry, ServerReading(Identity("modern", "2026-07-28"), definitions or (tool("read"),)))
        view.follow_others()
    return view


CALLER = Caller("agent", "stdio", "stdio:agent")
