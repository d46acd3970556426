"""Only tools that exist and that the rules enable are run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from toolcrib.calls.chain import CallTool
from toolcrib.errors import AuthenticationFailed, NeedsConfiguration, ServerConnectionError, ToolcribError
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.model.server import ServerSpec
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import admitted

# As long as a server may take to start.
DECLARED_SECONDS = 60.0
# After these a call would fail in the same way, only later.
_UNREACHABLE = (ServerConnectionError, NeedsConfiguration, AuthenticationFailed)


class Readings(Protocol):
    """Whoever sees to it that a server's tools are known."""

    async def need(self, spec: ServerSpec) -> None:
        """Return once the server was read, or could not be."""

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
        spec = self._view.specs.get(call.server)
        if spec is not None:
            await self._make_known(call, spec)
        visible = admitted(self._view, call.server, call.tool, call.caller)
        return await call_next(replace(call, target=Target(visible.tool, visible.upstream_name, visible.spec)))

    async def _make_known(self, call: ToolCall, spec: ServerSpec) -> None:
        """Have the server read, unless its entry says all that is needed to call the tool."""
        found = self._view.find(call.server, call.tool)
        if found is None or found.is_fallback or self._view.was_read(call.server):
            await self._readings.need(spec)
        elif not found.tool.input_schema:
            await self._read_declared(spec)
        failure = self._readings.unread_failure(spec)
        if failure is not None and self._view.find(call.server, call.tool) is None:
            raise failure

    async def _read_declared(self, spec: ServerSpec) -> None:
        """Its arguments could not be checked yet. A server that never lists its tools can be called all the same."""
        with suppress(TimeoutError):
            async with asyncio.timeout(spec.startup_timeout_seconds or self._declared_seconds()):
                await self._readings.need(spec)
        if isinstance(failure := self._readings.unread_failure(spec), _UNREACHABLE):
            raise failure
