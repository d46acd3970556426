"""Sessions of HTTP clients of the handshake era: the SDK's, each with a memory of its own for what was said in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class ResumableSessions(StreamableHTTPSessionManager):
    """Gives each session a store of its own: an event of one can't be asked for by another, even under the same request id."""

    def __init__(self, server: Server[Any], new_store: Callable[[], EventStore], **options: Any) -> None:
        self._new_store = new_store
        super().__init__(server, **options)
        server._session_manager = self  # noqa: SLF001 - as `Server.streamable_http_app` does with its own

    @property
    def event_store(self) -> EventStore:
        """The store of the next session: the SDK asks once for each."""
        return self._new_store()

    @event_store.setter
    def event_store(self, _: EventStore | None) -> None:
        """The SDK sets what it was given, which is none."""
