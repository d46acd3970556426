"""All connections: opened on first need, one for each launch, closed together."""

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

ServerHook = Callable[[ServerSpec], None]
Key = tuple[str, float | None, str]

_NOBODY_ASKS = ConnectionHooks(known_identity=lambda: None, on_connected=lambda _: None, on_tools_changed=lambda: None)


class Pool:
    """Holds a connection per launch, whatever entries it has; an entry that launches something else gets a new one.

    Entries that differ in how long the start may take have a connection each: one start can't be patient and impatient.
    """

    def __init__(
        self,
        open_link: OpenLink,
        policy: ConnectionPolicy,
        *,
        known_identity: Callable[[ServerSpec], Identity | None],
        on_connected: Callable[[ServerSpec, Identity], None],
        on_tools_changed: ServerHook,
    ) -> None:
        self._open_link = open_link
        self._policy = policy
        self._known_identity = known_identity
        self._on_connected = on_connected
        self._on_tools_changed = on_tools_changed
        self._connections: dict[Key, Connection] = {}

    async def configure(self, policy: ConnectionPolicy) -> None:
        """Let another policy hold: every connection is closed, and opened anew on the next need."""
        if policy == self._policy:
            return
        self._policy = policy
        gone = list(self._connections.values())
        self._connections = {key: self._connection(one.spec) for key, one in self._connections.items()}
        await _close_all(gone)

    async def serve(self, specs: Iterable[ServerSpec]) -> None:
        """Take a new set of servers; only what is launched differently, or no more, is closed."""
        wanted = {_key(spec): spec for spec in reversed(list(specs))}  # of several entries the first one counts
        kept = {key: one for key, one in self._connections.items() if key in wanted}
        gone = [connection for key, connection in self._connections.items() if key not in kept]
        for key, connection in kept.items():
            connection.spec = wanted[key]
        self._connections = kept | {key: self._connection(spec) for key, spec in wanted.items() if key not in kept}
        await _close_all(gone)

    async def call(self, call: ToolCall) -> ToolResult:
        if call.target is None or call.target.spec is None:
            raise ServerConnectionError("the call has no server to go to", server=call.server)
        result = await self._get(call.target.spec).call(call)
        if not result.is_object:
            raise ToolExecutionError("the server returned something that is not a tool result", server=call.server)
        refuse_interim(result, call.server)
        return result

    @asynccontextmanager
    async def visit(self, spec: ServerSpec) -> AsyncIterator[Connection]:
        """The connection that is kept for this launch; for any other one that ends with the block, whatever happens."""
        kept = None if spec.is_foreign else self._connections.get(_key(spec))
        if kept is not None:
            yield kept
            return
        passing = Connection(spec, self._open_link, self._policy, _NOBODY_ASKS)
        try:
            yield passing
        finally:
            await passing.close()

    async def connect(self, spec: ServerSpec) -> None:
        """Start a server now rather than on its first call; raises what kept us from it."""
        await self._get(spec).connect()

    async def disconnect(self, spec: ServerSpec) -> None:
        """Stop a server; the next call starts it again."""
        await self._get(spec).disconnect()

    def status(self, spec: ServerSpec) -> ServerStatus:
        connection = self._connections.get(_key(spec))
        return DISCONNECTED if connection is None else connection.status

    async def close(self) -> None:
        """Close every connection, all at once, so that the time does not grow with their number."""
        connections, self._connections = list(self._connections.values()), {}
        await _close_all(connections)

    def _get(self, spec: ServerSpec) -> Connection:
        connection = self._connections.get(_key(spec))
        if connection is None:
            raise ServerConnectionError("the server is not configured any more", server=spec.name)
        return connection

    def _connection(self, spec: ServerSpec) -> Connection:
        hooks = ConnectionHooks(
            known_identity=partial(self._known_identity, spec),
            on_connected=partial(self._on_connected, spec),
            on_tools_changed=partial(self._on_tools_changed, spec),
        )
        return Connection(spec, self._open_link, self._policy, hooks)


def _key(spec: ServerSpec) -> Key:
    return spec.launch_key, spec.startup_timeout_seconds, spec.instance


async def _close_all(connections: Iterable[Connection]) -> None:
    await asyncio.gather(*(connection.close() for connection in connections), return_exceptions=True)
