"""What is asked of a server about an item besides getting it: which values fit, and to be told of changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from toolcrib.calls.audit_log import SUBSCRIBED
from toolcrib.calls.chain import Step, build_chain
from toolcrib.errors import CallTimeout, RateLimited
from toolcrib.model.call import CallNotes, Target, ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.items import RESOURCE
from toolcrib.model.visible_tool import reference
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import admitted
from toolcrib.workspace.readable import found

# Somebody is typing: a suggestion that comes later is of no use.
COMPLETION_SECONDS = 5.0
# A hundred suggestions are the most that there may be.
MOST_COMPLETION_BYTES = 1024 * 1024
NO_COMPLETION: Mapping[str, Any] = {"values": [], "total": 0, "hasMore": False}

Hear = Callable[[str], None]
Leave = Callable[[], Awaitable[None]]


class ItemConnections(Protocol):
    """Whoever reaches the server of a call in other ways than by that call."""

    async def ask(self, call: ToolCall, method: str, params: Mapping[str, Any], seconds: float) -> bytes: ...

    async def subscribe(self, call: ToolCall, uri: str, hear: Hear) -> Leave: ...


class ServerItems:
    """Asks about items that the caller may use; raises for any other."""

    def __init__(
        self,
        view: CatalogView,
        connections: ItemConnections,
        *,
        before_asking: Sequence[Step] = (),
        before_watching: Sequence[Step] = (),
    ) -> None:
        self._view = view
        self._connections = connections
        self._before_asking = before_asking
        # One of them finds the resource, and decides whether this caller may read it.
        self._before_watching = before_watching

    async def complete(
        self, server: str, name: str, argument: str, value: str, context: Mapping[str, Any] | None, caller: Caller
    ) -> Mapping[str, Any]:
        """Values that an argument or a variable may have; none where the server does not say, or not in time."""
        visible = admitted(self._view, server, name, caller)
        identity = self._view.identity(server)
        if visible.spec is None or identity is None or "completions" not in identity.capabilities:
            return NO_COMPLETION
        given: dict[str, Any] = {"ref": reference(visible), "argument": {"name": argument, "value": value}}
        if context is not None:
            given["context"] = context
        target = Target(visible.tool, visible.upstream_name, visible.spec)

        async def ask(call: ToolCall) -> ToolResult:
            return ToolResult(await self._connections.ask(call, "completion/complete", given, COMPLETION_SECONDS))

        try:
            call = ToolCall(server, name, {}, b"{}", caller, target=target)
            answer = await build_chain(self._before_asking, ask)(call)
        except (CallTimeout, RateLimited):
            return NO_COMPLETION
        is_readable = len(answer.raw) <= MOST_COMPLETION_BYTES and answer.is_object
        suggested = answer.member("completion") if is_readable else None
        return suggested if isinstance(suggested, dict) else NO_COMPLETION

    async def subscribe(
        self, server: str, uri: str, hear: Hear, caller: Caller, caller_now: Callable[[], Caller]
    ) -> Leave:
        """Hear of a resource from now on; gives what ends that."""
        begun: list[Leave] = []

        def hear_if_allowed(updated: str) -> None:
            # It may be a part of what was asked about, and rules and rights may be others by now.
            visible = found(self._view, server, f"{RESOURCE}{updated}", caller_now())
            if visible is not None and visible.enabled:
                hear(updated)

        async def begin(call: ToolCall) -> ToolResult:
            begun.append(await self._connections.subscribe(call, uri, hear_if_allowed))
            return ToolResult(b"{}")

        call = ToolCall(server, f"{RESOURCE}{uri}", {}, b"{}", caller, notes=CallNotes(deed=SUBSCRIBED))
        await build_chain(self._before_watching, begin)(call)
        return begun[0]
