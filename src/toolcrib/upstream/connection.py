"""One server: connects on first need, stops when idle, comes back after a crash.

A server process that crashed is started again by the next call. A remote endpoint that is lost is also looked for in the background.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from toolcrib.errors import CallTimeout, ServerConnectionError, ToolcribError
from toolcrib.model.asking import QuestionKind
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.peer import FROM_PEER
from toolcrib.model.reading import Identity, ListKind, ServerListing, ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.model.status import CONNECTED, DISCONNECTED, ServerStatus
from toolcrib.upstream.first_look import LOOK_SECONDS, FirstLook
from toolcrib.upstream.household import Household
from toolcrib.upstream.link import SessionExpired, TransportLimits
from toolcrib.upstream.meeting import Meeting, OpenLink, to_the_end
from toolcrib.upstream.reconnect import Reconnecting, may_come_back
from toolcrib.upstream.session import LONGEST_CALL_SECONDS, Session
from toolcrib.upstream.tool_list import ListLimits
from toolcrib.upstream.turns import Turns
from toolcrib.upstream.watches import Hear, Watches

log = logging.getLogger(__name__)

# How long a lost request waits for the end of its link to be noticed, so that the next attempt opens a new one.
NOTICE_SECONDS = 0.05
# Sessions that nobody ends must not fill our memory.
MOST_CALLERS = 1_000

_SLOW_START = "If its first start downloads packages, raise startupTimeout for this server."
_SLOW_REMOTE = "Check that it works and that its address is right. If it is only slow, raise connectTimeout, or give its entry a startupTimeout."


T = TypeVar("T")
Turn = Callable[[], Awaitable[None]]
"""Waits until the server may be started."""


@dataclass(frozen=True, slots=True)
class ConnectionPolicy:
    """How long we wait, how much we take, when we let go."""

    client_info: Mapping[str, str]
    startup_seconds: float = 60.0
    connect_seconds: float = 10.0
    probe_seconds: float = 3.0
    call_seconds: float = 300.0
    longest_call_seconds: float = LONGEST_CALL_SECONDS
    list_seconds: float = 30.0
    idle_seconds: float = 300.0
    # A connection opened only to read the tool list is not kept for the full idle time:
    # a first start with a hundred servers would otherwise leave a hundred processes behind.
    read_linger_seconds: float = 5.0
    max_concurrent: int = 32
    max_starts_per_minute: int = 5
    limits: ListLimits = field(default_factory=ListLimits)
    # Links are opened with them by whoever opens links; here so that other ones open the links anew.
    transport: TransportLimits = field(default_factory=TransportLimits)


@dataclass(frozen=True, slots=True)
class ConnectionHooks:
    """What the owner of a connection wants to know, and what it knows already."""

    known_identity: Callable[[], Identity | None]
    on_connected: Callable[[Identity], None]
    on_tools_changed: Callable[[], None]
    # Of what came on no stream of a call, and whether this server was ever seen asking so.
    on_asked: Callable[[QuestionKind], None] = lambda _: None
    asks: Callable[[], bool] = lambda: False
    # Whether the first call on a new link waits for a look at what the server lists.
    looks_first: Callable[[], bool] = lambda: False


class Connection:
    """Owns at most one open link at a time; one task opens it, waits for its end and closes it."""

    def __init__(
        self,
        spec: ServerSpec,
        open_link: OpenLink,
        policy: ConnectionPolicy,
        hooks: ConnectionHooks,
        *,
        is_own: bool = False,
    ) -> None:
        """One that `is_own` serves one client, which is asked for all that the server wants to know."""
        self.spec = spec
        self._household = Household() if is_own else None
        self._turns = Turns(spec.name)
        self._open_link = open_link
        self._policy = policy
        self._hooks = hooks
        self._ready: asyncio.Future[Session] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closed: asyncio.Task[str] | None = None
        self._slots = asyncio.Semaphore(policy.max_concurrent)
        self._starts: deque[float] = deque(maxlen=policy.max_starts_per_minute)
        self._failures = 0
        self._last_reason = ""
        self._in_flight = 0
        self._called = False
        self._last_used = 0.0
        self._connected_at = 0.0
        self._reconnecting = Reconnecting(
            spec.name, self._came_back, self._is_wanted, is_listened_to=lambda: self.is_listened_to
        )
        self._watches = Watches(spec.name)
        self._first_look = FirstLook(hooks.on_tools_changed)
        self._successor: Connection | None = None
        self.status = DISCONNECTED
        # Who has called since the link was opened: names of clients with their sessions.
        self.callers: set[tuple[str, str]] = set()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing runs and nothing is to be remembered: as good as a new one."""
        is_idle = not self._in_flight and not self._watches
        return self.status == DISCONNECTED and is_idle and (self._owner is None or self._owner.done())

    @property
    def is_listened_to(self) -> bool:
        """Whether somebody waits to hear of a resource."""
        return bool(self._watches)

    async def call(self, call: ToolCall) -> ToolResult:
        """Run a tool, connecting first if need be."""
        name = call.target.upstream_name if call.target is not None else call.tool
        # Several entries may share this connection; the one that the call came by says how long it may take.
        spec = self.spec if call.target is None or call.target.spec is None else call.target.spec
        seconds = spec.call_seconds(name) or self._policy.call_seconds

        async def work(session: Session) -> ToolResult:
            self._called = True
            self._note(call.caller)
            if not self._first_look.is_over(session, call) and self._hooks.looks_first():
                await self._first_look.before(call, session, partial(self._list_on, session))
            in_turn = self._household is not None and not session.link.attributes and self._hooks.asks()
            async with self._turns.taken(seconds) if in_turn else nullcontext():
                if call.look_again is not None:
                    await call.look_again(call)
                return await session.call(call, seconds, self._policy.longest_call_seconds)

        async with self._slots:
            with nullcontext() if self._household is None else self._household.visited(call.conversation):
                return await self._with_session(work)

    async def ask(self, caller: Caller, method: str, params: Mapping[str, object], seconds: float) -> bytes:
        """What the server answers to anything but a call, connecting first if need be."""

        async def work(session: Session) -> bytes:
            self._called = True
            self._note(caller)
            return await session.ask(method, params, seconds)

        return await self._with_session(work)

    async def subscribe(self, caller: Caller, uri: str, hear: Hear) -> None:
        """Let somebody hear of a resource from now on, connected for as long as that lasts; raises what the server answers."""

        async def work(session: Session) -> None:
            self._note(caller)
            await self._watches.begin(session, uri)

        async with self._watches.turn(uri):
            if not self._watches.add(uri, hear):
                return
            try:
                await self._with_session(work)
            except BaseException:
                self._watches.remove(uri, hear)
                raise

    async def unsubscribe(self, uri: str, hear: Hear) -> None:
        """Let them hear of it no longer."""
        if self._successor is not None:
            await self._successor.unsubscribe(uri, hear)
            return
        session = self._open_session()
        if self._watches.remove(uri, hear) and session is not None:
            await self._watches.end(session, uri)
            self._last_used = asyncio.get_running_loop().time()

    def hand_over(self, successor: Connection) -> None:
        """Another connection takes this one's place: those who listen are told by it from now on."""
        self._successor = successor
        self._watches.move_to(successor._watches)
        if successor._watches:
            successor._reconnecting.start()

    async def tell_roots_changed(self) -> None:
        """Let the server know that its client's folders are others by now, if it runs; when it starts it asks anyway."""
        session = self._open_session()
        if session is None:
            return
        try:
            await session.tell_roots_changed()
        except (ToolcribError, SessionExpired) as trouble:
            log.debug("%s was not told that folders changed: %s", self.spec.name, trouble)

    def _open_session(self) -> Session | None:
        """The session that can be used at this moment without waiting for one."""
        ready = self._opened()
        if ready is None or not ready.done() or ready.cancelled() or ready.exception() is not None:
            return None
        return ready.result()

    def forget_session(self, session: str) -> None:
        """A session is over; who called in it uses this server no longer."""
        self.callers = {caller for caller in self.callers if caller[1] != session}

    def _note(self, caller: Caller) -> None:
        if len(self.callers) < MOST_CALLERS:
            self.callers.add((caller.name, caller.session))

    async def read(self) -> ServerReading:
        """The server's identity, its tools and what else it offers, as they are now; of a peer only what is for others."""
        seconds, limits = self._policy.list_seconds, self._policy.limits
        if self.spec.origin.source == FROM_PEER:
            limits = replace(limits, items=0)

        async def work(session: Session) -> ServerReading:
            reading = await session.read(limits, seconds)
            self._first_look.was_read(session)
            return reading

        return await self._with_session(work)

    async def _list_on(self, session: Session, kind: ListKind) -> ServerListing:
        return await session.list_items(kind, self._policy.limits, min(self._policy.list_seconds, LOOK_SECONDS))

    async def list_items(self, kind: ListKind) -> ServerListing:
        """Everything of one kind that the server has now."""
        seconds = self._policy.list_seconds
        return await self._with_session(lambda session: session.list_items(kind, self._policy.limits, seconds))

    async def connect(self) -> None:
        """Start the server now, and keep it for as long as one that was called."""
        self._in_flight += 1
        try:
            await self._session()
            self._called = True
        finally:
            self._in_flight -= 1
            self._last_used = asyncio.get_running_loop().time()

    async def disconnect(self) -> None:
        """Stop the server because somebody asked for it: that says nothing against starting it again."""
        await self.close()
        self._failures = 0
        self._starts.clear()

    async def close(self) -> None:
        """Stop the server; bounded by the link's own close."""
        await self._reconnecting.stop()
        owner = self._owner
        if owner is not None and not owner.done():
            owner.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({owner})
            await self._reconnecting.stop()  # it may have lost its link before it heard of this
        self.status = DISCONNECTED

    async def _with_session(self, work: Callable[[Session], Awaitable[T]]) -> T:
        self._in_flight += 1
        try:
            session = await self._session()
            try:
                answer = await work(session)
            except SessionExpired:
                answer = await self._again(session, work)
            except ServerConnectionError:
                await self._notice_end()
                raise
            self._failures = 0
            self._reconnecting.forget()
            return answer
        finally:
            self._in_flight -= 1
            self._last_used = asyncio.get_running_loop().time()

    async def _again(self, session: Session, work: Callable[[Session], Awaitable[T]]) -> T:
        """The same work on a new link, since the server never took it; others may have renewed the link already."""
        self._last_reason = "the server ended the session"
        if self._ready is not None and self._ready.done() and self._ready.result() is session:
            await self.close()
        try:
            return await work(await self._session())
        except SessionExpired:
            raise ServerConnectionError("the server ends every session at once", server=self.spec.name) from None

    async def _notice_end(self) -> None:
        if self._closed is not None:
            await asyncio.wait({self._closed}, timeout=NOTICE_SECONDS)

    async def _session(self) -> Session:
        """The open session, or a new one because somebody needs it now."""
        ready = self._opened()
        if ready is None:
            self._called = False
            self._reconnecting.forget()
            ready = self._open(self._wait_for_turn)
        return await asyncio.shield(ready)

    async def _came_back(self) -> bool:
        """A try that nobody waits for; it counts as no start, and whoever connects meanwhile does the same work."""
        try:
            await asyncio.shield(self._opened() or self._open(_at_once))
        except ToolcribError:
            return False
        return True

    def _opened(self) -> asyncio.Future[Session] | None:
        """What is open, or is being opened."""
        return None if self._closed is not None and self._closed.done() else self._ready

    def _is_wanted(self) -> bool:
        """An endpoint that nobody has used for as long as it may be idle is not looked for."""
        unused = asyncio.get_running_loop().time() - self._last_used
        return self._in_flight > 0 or bool(self._watches) or unused < self._policy.idle_seconds

    def _open(self, turn: Turn) -> asyncio.Future[Session]:
        self._closed = None
        ready = self._ready = asyncio.get_running_loop().create_future()
        ready.add_done_callback(_mark_retrieved)
        self._owner = asyncio.create_task(self._own(ready, self._owner, turn), name=f"own {self.spec.name}")
        return ready

    async def _own(self, ready: asyncio.Future[Session], previous: asyncio.Task[None] | None, turn: Turn) -> None:
        """The life of one link, from opening to closing."""
        try:
            await _finished(previous)
            await turn()
            session = await self._connect()
        except ToolcribError as error:
            self._connect_failed(ready, error)
            return
        except asyncio.CancelledError:
            self._ready = None
            ready.set_exception(ServerConnectionError("stopped while it was starting", server=self.spec.name))
            await _finished(previous)
            raise
        except Exception as error:
            log.exception("connecting to %s failed unexpectedly", self.spec.name)
            self._connect_failed(
                ready, ServerConnectionError(f"{type(error).__name__}: {error}", server=self.spec.name)
            )
            return
        self.status = CONNECTED
        self._connected_at = asyncio.get_running_loop().time()
        closed = self._closed = asyncio.create_task(session.link.wait_closed())
        ready.set_result(session)
        self._tell_owner(session.identity)
        await self._keep(session, ready, closed)

    def _tell_owner(self, identity: Identity) -> None:
        try:
            self._hooks.on_connected(identity)
        except Exception:
            log.exception("%s is connected, but the work after that failed", self.spec.name)

    async def _connect(self) -> Session:
        seconds = self.spec.startup_timeout_seconds or self._policy.startup_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._meeting().open(self.spec, self._hooks.known_identity())
        except Exception as error:
            self._failures += 1
            late = self._too_slow() if isinstance(error, TimeoutError) else None
            self._last_reason = str(late or error)
            if late is not None:
                raise late from None
            raise

    def _meeting(self) -> Meeting:
        policy = self._policy
        return Meeting(
            self._open_link,
            self._hooks.on_tools_changed,
            policy.client_info,
            probe_seconds=policy.probe_seconds,
            handshake_seconds=self._handshake_seconds,
            on_asked=self._hooks.on_asked,
            household=self._household,
            on_updated=self._watches.updated,
        )

    @property
    def _handshake_seconds(self) -> float:
        """A server process must have started by then, a remote server only has to answer."""
        usual = self._policy.connect_seconds if self._is_remote else self._policy.startup_seconds
        return self.spec.startup_timeout_seconds or usual

    @property
    def _is_remote(self) -> bool:
        return self.spec.launch.transport != "stdio"

    def _too_slow(self) -> CallTimeout:
        what, hint = ("connecting", _SLOW_REMOTE) if self._is_remote else ("starting", _SLOW_START)
        message = f"did not finish {what} within {self._handshake_seconds:g} s"
        return CallTimeout(message, server=self.spec.name, hint=hint)

    async def _wait_for_turn(self) -> None:
        """Back off after failures; a server that keeps crashing is started only so many times a minute.

        Asking a remote endpoint again costs no process, and it may be back already: a call always tries.
        """
        if self._is_remote:
            return
        now = asyncio.get_running_loop().time()
        if len(self._starts) == self._starts.maxlen and now - self._starts[0] < 60:
            raise ServerConnectionError(
                f"started {len(self._starts)} times within a minute without staying up; last reason: {self._last_reason}",
                server=self.spec.name,
                hint="Fix the cause, then try again in a minute.",
            )
        if self._failures > 1:
            await asyncio.sleep(min(2.0 ** (self._failures - 2), 8.0))
        self._starts.append(asyncio.get_running_loop().time())

    def _connect_failed(self, ready: asyncio.Future[Session], error: ToolcribError) -> None:
        if isinstance(error, ServerConnectionError):
            error.sent = False  # only the handshake was: no call has left us
        self._ready = None
        self.status = ServerStatus("error", error.message)
        log.log(self._reconnecting.log_level, "%s: %s", self.spec.name, error.message)
        ready.set_exception(error)
        if self._is_remote and may_come_back(error):
            self._reconnecting.start()

    async def _keep(self, session: Session, ready: asyncio.Future[Session], closed: asyncio.Task[str]) -> None:
        """Hold the link until it ends, is idle too long, or we are told to stop; then close it."""
        changes = asyncio.create_task(session.hear_changes())
        changes.add_done_callback(_mark_task_retrieved)
        watching = asyncio.create_task(self._watches.take_up(session)) if self._watches else None
        try:
            while not closed.done() and (left := self._idle_left()) > 0:
                await asyncio.wait({closed}, timeout=left)
            self._note_end(closed)
        finally:
            if self._ready is ready:
                self._ready = None
            self.callers.clear()
            closed.cancel()
            changes.cancel()
            self._watches.stop()
            if watching is not None:
                watching.cancel()
            await to_the_end(session.link.close())

    def _note_end(self, closed: asyncio.Task[str]) -> None:
        if not closed.done():
            self._failures = 0
            self._starts.clear()
            self.status = DISCONNECTED
            return
        self._failures += 1
        self._last_reason = closed.result()
        self.status = ServerStatus("error", closed.result())
        log.warning("%s: %s", self.spec.name, closed.result())
        if self._is_remote or self._watches:
            self._reconnecting.start()

    def _idle_left(self) -> float:
        limit = (
            self._policy.idle_seconds
            if self._called
            else min(self._policy.read_linger_seconds, self._policy.idle_seconds)
        )
        if self._in_flight or self._watches:
            return limit
        # One that came back by itself gets its time too, so that whoever is told of it can read it.
        since = self._last_used if self._called else max(self._last_used, self._connected_at)
        return since + limit - asyncio.get_running_loop().time()


async def _at_once() -> None:
    """No turn to wait for."""


async def _finished(previous: asyncio.Task[None] | None) -> None:
    if previous is not None:
        await asyncio.wait({previous})


def _mark_retrieved(ready: asyncio.Future[Session]) -> None:
    if not ready.cancelled():
        ready.exception()


def _mark_task_retrieved(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.debug("listening for changes ended: %s", task.exception())
