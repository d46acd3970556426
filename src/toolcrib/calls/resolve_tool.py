"""Only tools that exist and that the rules enable are run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from toolcrib.calls.chain import CallTool
from toolcrib.errors import (
    AuthenticationFailed,
    NeedsConfiguration,
    ServerConnectionError,
    ServerMovedOn,
    ToolcribError,
)
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.model.server import ServerSpec
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import admitted
from toolcrib.workspace.readable import found

# As long as a server may take to start.
DECLARED_SECONDS = 60.0
# How often a call of what waits for a review has its server read again at most.
LOOK_AGAIN_SECONDS = 60.0
# So long after it was looked at a call is sent without another look: it has waited for nothing.
AT_ONCE_SECONDS = 0.001
# After these a call would fail in the same way, only later.
_UNREACHABLE = (ServerConnectionError, NeedsConfiguration, AuthenticationFailed)


class Readings(Protocol):
    """Whoever sees to it that a server's tools are known."""

    async def need(self, spec: ServerSpec) -> None:
        """Return once the server was read, or could not be."""

    def expire_older(self, spec: ServerSpec, seconds: float) -> None:
        """What is known of a server counts no longer, if it was read longer ago than that."""

    def unread_failure(self, spec: ServerSpec) -> ToolcribError | None:
        """Why the tools of a server are not known."""


class ResolveTool:
    """Finds the tool a call names, reading its server first where nobody has, and lets it pass if the caller may use it."""

    def __init__(
        self, view: CatalogView, readings: Readings, *, declared_seconds: Callable[[], float] = lambda: DECLARED_SECONDS
    ) -> None:
        self._view = view
        self._readings = readings
        self._declared_seconds = declared_seconds

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        try:
            return await call_next(await self._resolved(call))
        except ServerMovedOn:
            # Nothing was sent. The server is read now, and the tool may be another one, or none that may be used.
            return await call_next(await self._resolved(call.but(caller=call.caller_now())))

    async def again(self, call: ToolCall) -> None:
        """Raise ServerMovedOn where a call that waited would not go to what was found for it any more; it is looked up anew then."""
        target = call.target
        if target is None:
            return
        if target.spec is not None and self._has_been_listed(call.server):
            await self._make_known(call, target.spec)
        if not _is_same(found(self._view, call.server, target.tool.name, call.caller_now()), target):
            raise ServerMovedOn(
                f"{target.tool.id} was not run: it has changed while the call waited.",
                hint="Look it up again with get_tool_details.",
            )
        call.notes.looked_at = time.monotonic()

    def _has_been_listed(self, server: str) -> bool:
        """A server that did not list its tools before is not asked for them once more."""
        return self._view.was_read(server) or self._view.is_launched_differently(server)

    async def _before_sending(self, call: ToolCall) -> None:
        """The same for a call that had to wait for its server, for its turn, or for a person."""
        if time.monotonic() - call.notes.looked_at > AT_ONCE_SECONDS:
            await self.again(call)

    async def _resolved(self, call: ToolCall) -> ToolCall:
        spec = self._view.spec_for(call.server, call.caller)
        if spec is not None:
            await self._make_known(call, spec)
        visible = admitted(self._view, call.server, call.tool, call.caller)
        notes, tool = call.notes, visible.tool
        notes.effect, notes.fingerprint, notes.parameters = visible.effect, tool.fingerprint, tool.parameters
        notes.looked_at = time.monotonic()
        target = Target(tool, visible.upstream_name, visible.spec, visible.confirm)
        return call.but(target=target, look_again=self._before_sending)

    async def _make_known(self, call: ToolCall, spec: ServerSpec) -> None:
        """Have the server read, unless its entry says all that is needed to call the tool."""
        known = self._view.find(call.server, call.tool)
        if known is not None and known.availability.is_unreviewed:
            # It may have gone back to what it was; nobody else looks, since nobody can call it.
            self._readings.expire_older(spec, LOOK_AGAIN_SECONDS)
        if self._view.is_launched_differently(call.server):
            await self._read_other_launch(spec)
        elif known is None or known.is_fallback or self._view.was_read(call.server):
            await self._readings.need(spec)
        elif not known.tool.accepts:
            await self._read_declared(spec)
        failure = self._readings.unread_failure(spec)
        if failure is not None and self._view.find(call.server, call.tool) is None:
            raise failure

    async def _read_other_launch(self, spec: ServerSpec) -> None:
        """What is shown was listed, and agreed to, of something else that was started or contacted under this name."""
        self._readings.expire_older(spec, 0.0)
        await self._readings.need(spec)
        if self._view.is_launched_differently(spec.name):
            raise self._readings.unread_failure(spec) or ServerConnectionError(
                f"{spec.name} was not called: its entry has changed, and its tools could not be listed yet",
                server=spec.name,
                retryable=True,
            )

    async def _read_declared(self, spec: ServerSpec) -> None:
        """Its arguments could not be checked yet. A server that never lists its tools can be called all the same."""
        with suppress(TimeoutError):
            async with asyncio.timeout(spec.startup_timeout_seconds or self._declared_seconds()):
                await self._readings.need(spec)
        if isinstance(failure := self._readings.unread_failure(spec), _UNREACHABLE):
            raise failure


def _is_same(now: VisibleTool | None, target: Target) -> bool:
    """Whether what is found now may be called, and is what was found before."""
    if now is None or not now.enabled:
        return False
    if now.confirm and not target.confirm:
        return False  # nobody was asked about it
    launch_key = now.tool.server if now.spec is None else now.spec.launch_key
    return (now.tool.fingerprint, launch_key) == (target.tool.fingerprint, target.launch_key)
