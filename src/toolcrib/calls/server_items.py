"""What is asked of a server about an item besides getting it: which values fit, and to be told of changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from toolcrib.errors import CallTimeout
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.items import RESOURCE
from toolcrib.model.visible_tool import reference
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import admitted
from toolcrib.workspace.readable import found

# Somebody is typing: a suggestion that comes later is of no use.
COMPLETION_SECONDS = 5.0
NO_COMPLETION: Mapping[str, Any] = {"values": [], "total": 0, "hasMore": False}

Hear = Callable[[str], None]
Leave = Callable[[], Awaitable[None]]


class ItemConnections(Protocol):
    """Whoever reaches the server of a call in other ways than by that call."""

    async def ask(self, call: ToolCall, method: str, params: Mapping[str, Any], seconds: float) -> bytes: ...

    async def subscribe(self, call: ToolCall, uri: str, hear: Hear) -> Leave: ...


class ServerItems:
    """Asks about items that the caller may use; raises for any other."""

    def __init__(self, view: CatalogView, connections: ItemConnections) -> None:
        self._view = view
        self._connections = connections

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
        call = self._call(server, name, caller)
        try:
            answer = ToolResult(await self._connections.ask(call, "completion/complete", given, COMPLETION_SECONDS))
        except CallTimeout:
            return NO_COMPLETION
        suggested = answer.member("completion") if answer.is_object else None
        return suggested if isinstance(suggested, dict) else NO_COMPLETION

    async def subscribe(self, server: str, uri: str, hear: Hear, caller: Caller) -> Leave:
        """Hear of a resource from now on; gives what ends that."""
        call = self._call(server, f"{RESOURCE}{uri}", caller)

        def hear_if_allowed(updated: str) -> None:
            # It may be a part of what was asked about, and rules may be others by now.
            visible = found(self._view, server, f"{RESOURCE}{updated}", caller)
            if visible is not None and visible.enabled:
                hear(updated)

        return await self._connections.subscribe(call, uri, hear_if_allowed)

    def _call(self, server: str, name: str, caller: Caller) -> ToolCall:
        """The call that would get the item: whatever else is asked goes the same way."""
        visible = admitted(self._view, server, name, caller)
        target = Target(visible.tool, visible.upstream_name, visible.spec)
        return ToolCall(server, name, {}, b"{}", caller, target=target)
