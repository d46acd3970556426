"""Only tools that exist and that the rules enable are run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from toolcrib.calls.chain import CallTool
from toolcrib.calls.missing import admitted
from toolcrib.errors import AuthenticationFailed, NeedsConfiguration, ServerConnectionError, ToolcribError
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.workspace.catalog_view import CatalogView

# As long as a server may take to start.
DECLARED_SECONDS = 60.0
# After these a call would fail in the same way, only later.
_UNREACHABLE = (ServerConnectionError, NeedsConfiguration, AuthenticationFailed)


class Readings(Protocol):
    """Whoever sees to it that a server's tools are known."""

    async def need(self, server: str) -> None:
        """Return once the server was read, or could not be."""

    def unread_failure(self, server: str) -> ToolcribError | None:
        """Why the tools of a server are not known."""


class ResolveTool:
    """Finds the tool a call names, reading its server first where nobody has, and lets it pass if it is enabled."""

    def __init__(
        self, view: CatalogView, readings: Readings, *, declared_seconds: Callable[[], float] = lambda: DECLARED_SECONDS
    ) -> None:
        self._view = view
        self._readings = readings
        self._declared_seconds = declared_seconds

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        await self._make_known(call)
        failure = self._readings.unread_failure(call.server)
        if failure is not None and self._view.find(call.server, call.tool) is None:
            raise failure
        visible = admitted(self._view, call.server, call.tool)
        return await call_next(replace(call, target=Target(visible.tool, visible.upstream_name)))

    async def _make_known(self, call: ToolCall) -> None:
        """Have the server read, unless its entry says all that is needed to call the tool."""
        found = self._view.find(call.server, call.tool)
        is_declared = found is not None and not found.is_fallback and not self._view.was_read(call.server)
        if not is_declared:
            await self._readings.need(call.server)
        elif found is not None and not found.tool.input_schema:
            # Its arguments could not be checked yet. A server that never lists its tools can be called all the same.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._declared_seconds()):
                    await self._readings.need(call.server)
            if isinstance(failure := self._readings.unread_failure(call.server), _UNREACHABLE):
                raise failure
