"""All connections: opened on first need, one per server, closed together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

from toolcrib.errors import ServerConnectionError, ToolExecutionError
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.reading import Identity
from toolcrib.model.server import ServerSpec
from toolcrib.model.status import DISCONNECTED, ServerStatus
from toolcrib.upstream.connection import Connection, ConnectionHooks, ConnectionPolicy
from toolcrib.upstream.interim_result import refuse_interim
from toolcrib.upstream.meeting import OpenLink

ServerHook = Callable[[str], None]

_NOBODY_ASKS = ConnectionHooks(known_identity=lambda: None, on_connected=lambda _: None, on_tools_changed=lambda: None)


class Pool:
    """Holds a connection per configured server; a changed entry gets a new one, the others go on undisturbed."""

    def __init__(
        self,
        open_link: OpenLink,
        policy: ConnectionPolicy,
        *,
        known_identity: Callable[[str], Identity | None],
        on_connected: Callable[[str, Identity], None],
        on_tools_changed: ServerHook,
    ) -> None:
        self._open_link = open_link
        self._policy = policy
        self._known_identity = known_identity
        self._on_connected = on_connected
        self._on_tools_changed = on_tools_changed
        self._connections: dict[str, Connection] = {}

    async def configure(self, specs: Iterable[ServerSpec], policy: ConnectionPolicy) -> None:
        """Take a new set of servers; only what changed is closed."""
        wanted = {spec.name: spec for spec in specs}
        same_policy, self._policy = policy == self._policy, policy
        kept = {n: c for n, c in self._connections.items() if same_policy and wanted.get(n) == c.spec}
        gone = [connection for name, connection in self._connections.items() if name not in kept]
        self._connections = kept | {name: self._connection(s) for name, s in wanted.items() if name not in kept}
        await _close_all(gone)

    async def call(self, call: ToolCall) -> ToolResult:
        result = await self._get(call.server).call(call)
        if not result.is_object:
            raise ToolExecutionError("the server returned something that is not a tool result", server=call.server)
        refuse_interim(result, call.server)
        return result

    @asynccontextmanager
    async def visit(self, spec: ServerSpec) -> AsyncIterator[Connection]:
        """The connection that is kept for this very entry; for any other one that ends with the block, whatever happens."""
        kept = self._connections.get(spec.name)
        if kept is not None and kept.spec == spec:
            yield kept
            return
        passing = Connection(spec, self._open_link, self._policy, _NOBODY_ASKS)
        try:
            yield passing
        finally:
            await passing.close()

    async def connect(self, server: str) -> None:
        """Start a server now rather than on its first call; raises what kept us from it."""
        await self._get(server).connect()

    async def disconnect(self, server: str) -> None:
        """Stop a server; the next call starts it again."""
        await self._get(server).disconnect()

    def status(self, server: str) -> ServerStatus:
        connection = self._connections.get(server)
        return DISCONNECTED if connection is None else connection.status

    async def close(self) -> None:
        """Close every connection, all at once, so that the time does not grow with their number."""
        connections, self._connections = list(self._connections.values()), {}
        await _close_all(connections)

    def _get(self, server: str) -> Connection:
        connection = self._connections.get(server)
        if connection is None:
            raise ServerConnectionError("the server is not configured any more", server=server)
        return connection

    def _connection(self, spec: ServerSpec) -> Connection:
        hooks = ConnectionHooks(
            known_identity=partial(self._known_identity, spec.name),
            on_connected=partial(self._on_connected, spec.name),
            on_tools_changed=partial(self._on_tools_changed, spec.name),
        )
        return Connection(spec, self._open_link, self._policy, hooks)


async def _close_all(connections: Iterable[Connection]) -> None:
    await asyncio.gather(*(connection.close() for connection in connections), return_exceptions=True)
