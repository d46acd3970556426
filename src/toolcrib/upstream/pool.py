"""All connections: opened on first need, one for each launch and client it is for, closed together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from toolcrib.errors import ServerConnectionError, ToolExecutionError
from toolcrib.model.asking import QuestionKind
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.reading import Identity
from toolcrib.model.server import ServerSpec
from toolcrib.model.status import CONNECTED, DISCONNECTED, ServerStatus
from toolcrib.upstream.connection import Connection, ConnectionHooks, ConnectionPolicy
from toolcrib.upstream.meeting import OpenLink
from toolcrib.upstream.result_form import fault_of
from toolcrib.upstream.watches import Hear

ServerHook = Callable[[ServerSpec], None]
Key = tuple[str, float | None, str]
Session = str

_NOBODY_ASKS = ConnectionHooks(known_identity=lambda: None, on_connected=lambda _: None, on_tools_changed=lambda: None)


class Pool:
    """Holds a connection per launch, whatever entries it has; an entry that launches something else gets a new one.

    Entries that differ in how long the start may take have a connection each: one start can't be patient and impatient. So
    have those whose clients give the server other values. Of a private server each session that calls it has one more; so has
    each whose client can answer what a server was seen asking, unless its entry says that all share one.
    """

    def __init__(
        self,
        open_link: OpenLink,
        policy: ConnectionPolicy,
        *,
        known_identity: Callable[[ServerSpec], Identity | None],
        on_connected: Callable[[ServerSpec, Identity], None],
        on_tools_changed: ServerHook,
        known_asks: Callable[[ServerSpec], Collection[QuestionKind]] = lambda _: (),
        on_asks: Callable[[ServerSpec, QuestionKind], None] = lambda _, __: None,
        looks_first: Callable[[ServerSpec], bool] = lambda _: False,
    ) -> None:
        self._open_link = open_link
        self._policy = policy
        self._known_identity = known_identity
        self._on_connected = on_connected
        self._on_tools_changed = on_tools_changed
        self._known_asks = known_asks
        self._on_asks = on_asks
        self._looks_first = looks_first
        self._connections: dict[Key, Connection] = {}
        self._private: dict[tuple[Key, Session], Connection] = {}
        # What servers of the handshake era asked without saying for which call, by launch, since we are here.
        self._seen_asking: dict[str, set[QuestionKind]] = {}

    async def configure(self, policy: ConnectionPolicy) -> None:
        """Let another policy hold: every connection is closed, and opened anew on the next need."""
        if policy == self._policy:
            return
        self._policy = policy
        gone = self._all()
        self._connections = {key: self._replaced(one) for key, one in self._connections.items()}
        listening = {place: one for place, one in self._private.items() if one.is_listened_to}
        self._private = {place: self._replaced(one, is_own=True) for place, one in listening.items()}
        await _close_all(gone)

    async def serve(self, specs: Iterable[ServerSpec]) -> None:
        """Take a new set of servers; only what is launched differently, or no more, is closed."""
        entries = list(specs)
        wanted = {spec.process_key: spec for spec in reversed(entries)}  # of several entries the first one counts
        private = {spec.process_key for spec in entries if spec.is_private or self._may_have_own(spec)}
        before = self._all()
        self._private = {place: one for place, one in self._private.items() if place[0] in private}
        kept = {key: one for key, one in self._connections.items() if key in wanted}
        for key, connection in (*kept.items(), *((key, one) for (key, _), one in self._private.items())):
            connection.spec = wanted[key]
        gone = {one.spec.name: one for key, one in self._connections.items() if key not in wanted}
        new = {key: self._connection(spec) for key, spec in wanted.items() if key not in kept}
        self._connections = kept | new
        for connection in new.values():
            if connection.spec.name in gone:
                gone[connection.spec.name].hand_over(connection)
        await _close_all(set(before).difference(self._all()))

    async def end_session(self, session: str) -> None:
        """A caller's session is over: the connections that it had for itself are closed."""
        for connection in self._connections.values():
            connection.forget_session(session)
        gone = {place: one for place, one in self._private.items() if place[1] == session}
        self._private = {place: one for place, one in self._private.items() if place not in gone}
        await _close_all(gone.values())

    async def roots_changed(self, session: str) -> None:
        """The folders of the client in this session are others by now: its own connections hear of it."""
        own = [one for (_, owner), one in self._private.items() if owner == session]
        await asyncio.gather(*(one.tell_roots_changed() for one in own))

    async def call(self, call: ToolCall) -> ToolResult:
        if call.target is None or call.target.spec is None:
            raise ServerConnectionError("the call has no server to go to", server=call.server)
        result = await self._for_caller(call.target.spec, call).call(call)
        if not result.is_object:
            raise ToolExecutionError("the server returned something that is not a tool result", server=call.server)
        if fault := fault_of(result, call.target.tool.kind):
            raise ToolExecutionError(f"the server returned a malformed result: {fault}", server=call.server)
        return result

    async def ask(self, call: ToolCall, method: str, params: Mapping[str, object], seconds: float) -> bytes:
        """Ask the server of a call something else, on the connection that the call would take."""
        if call.target is None or call.target.spec is None:
            raise ServerConnectionError("there is no server to ask", server=call.server)
        return await self._for_caller(call.target.spec, call).ask(call.caller, method, params, seconds)

    async def subscribe(self, call: ToolCall, uri: str, hear: Hear) -> Callable[[], Awaitable[None]]:
        """Hear of a resource on the connection that the call would take; gives what ends that."""
        if call.target is None or call.target.spec is None:
            raise ServerConnectionError("there is no server to listen to", server=call.server)
        connection = self._for_caller(call.target.spec, call)
        await connection.subscribe(call.caller, uri, hear)
        return partial(connection.unsubscribe, uri, hear)

    @asynccontextmanager
    async def visit(self, spec: ServerSpec) -> AsyncIterator[Connection]:
        """The connection that is kept for this launch; for any other one that ends with the block, whatever happens."""
        kept = None if spec.is_foreign else self._connections.get(spec.process_key)
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
        self._get(spec)
        await asyncio.gather(*(one.disconnect() for one in self._of(spec)))

    def status(self, spec: ServerSpec) -> ServerStatus:
        """Connected where any of its connections is; what went wrong in one session is nobody else's to know."""
        if any(one.status == CONNECTED for one in self._of(spec)):
            return CONNECTED
        shared = self._connections.get(spec.process_key)
        return DISCONNECTED if shared is None else shared.status

    def users(self, spec: ServerSpec) -> Mapping[str, int]:
        """The clients that called a server since it was started, by name, with the number of their sessions."""
        callers = {caller for one in self._of(spec) for caller in one.callers}
        return Counter(name for name, _ in sorted(callers))

    async def close(self) -> None:
        """Close every connection, all at once, so that the time does not grow with their number."""
        connections, self._connections, self._private = self._all(), {}, {}
        await _close_all(connections)

    def _all(self) -> list[Connection]:
        return [*self._connections.values(), *self._private.values()]

    def _of(self, spec: ServerSpec) -> list[Connection]:
        """The connections of a server: the one that is shared, and those of sessions."""
        shared = self._connections.get(spec.process_key)
        own = [one for (key, _), one in self._private.items() if key == spec.process_key]
        return own if shared is None else [shared, *own]

    def _may_have_own(self, spec: ServerSpec) -> bool:
        return spec.share != "always" and bool(self._asks(spec))

    def _own_place(self, spec: ServerSpec, call: ToolCall) -> Session:
        """For whom the connection is that this call takes; empty where it is the shared one."""
        if spec.is_private:
            return call.caller.session
        if call.conversation is None or not self._may_have_own(spec):
            return ""
        can_answer = not self._asks(spec).isdisjoint(call.conversation.capabilities)
        return (call.caller.session or call.caller.key) if can_answer else ""

    def _for_caller(self, spec: ServerSpec, call: ToolCall) -> Connection:
        shared, owner = self._get(spec), self._own_place(spec, call)
        if not owner:
            return shared
        place = (spec.process_key, owner)
        if place not in self._private:
            # Not every face tells us when a session ends: those whose server was stopped meanwhile make room.
            self._private = {other: one for other, one in self._private.items() if not one.is_at_rest}
            self._private[place] = self._connection(spec, is_own=True)
        return self._private[place]

    def _replaced(self, before: Connection, *, is_own: bool = False) -> Connection:
        connection = self._connection(before.spec, is_own=is_own)
        before.hand_over(connection)
        return connection

    def _get(self, spec: ServerSpec) -> Connection:
        connection = self._connections.get(spec.process_key)
        if connection is None:
            raise ServerConnectionError("the server is not configured any more", server=spec.name)
        return connection

    def _asks(self, spec: ServerSpec) -> set[QuestionKind]:
        return self._seen_asking.get(spec.launch_key, set()).union(self._known_asks(spec))

    def _note_asked(self, spec: ServerSpec, kind: QuestionKind) -> None:
        seen = self._seen_asking.setdefault(spec.launch_key, set())
        if kind not in seen:
            seen.add(kind)
            self._on_asks(spec, kind)

    def _connection(self, spec: ServerSpec, *, is_own: bool = False) -> Connection:
        hooks = ConnectionHooks(
            known_identity=partial(self._known_identity, spec),
            on_connected=partial(self._on_connected, spec),
            on_tools_changed=partial(self._on_tools_changed, spec),
            on_asked=partial(self._note_asked, spec),
            asks=lambda: bool(self._asks(spec)),
            looks_first=partial(self._looks_first, spec),
        )
        return Connection(spec, self._open_link, self._policy, hooks, is_own=is_own)


async def _close_all(connections: Iterable[Connection]) -> None:
    await asyncio.gather(*(connection.close() for connection in connections), return_exceptions=True)
