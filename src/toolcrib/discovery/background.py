"""Keeps the catalogue fresh in the background, a few servers at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

from toolcrib.catalog.store import CatalogStore, StoreUnavailable
from toolcrib.discovery.turns import HeldTurn, Turns
from toolcrib.errors import ToolcribError, UpstreamError
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.stock import Stock

log = logging.getLogger(__name__)

LEASE_SECONDS = 120.0
LEASE_POLL_SECONDS = 0.25
COALESCE_SECONDS = 1.0


class Reader(Protocol):
    """Whoever can read a server's tools now; each attempt runs within `slot`, waiting for another one does not."""

    async def read(self, server: str, slot: AbstractAsyncContextManager[object]) -> ServerReading: ...


class Discovery:
    """Reads servers that are due; several gateways share the work through leases in the catalogue."""

    def __init__(
        self,
        stock: Stock,
        store: CatalogStore,
        reader: Reader,
        *,
        owner: str,
        max_parallel: int,
        now: Callable[[], float],
        always_reread: bool = False,
        on_read: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._stock = stock
        self._store = store
        self._reader = reader
        self._owner = owner
        self._now = now
        self._always_reread = always_reread
        self._on_read = on_read
        self._turns = Turns(max_parallel)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._attempted: dict[str, asyncio.Future[None]] = {}
        self._again: set[str] = set()
        self._soon: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, ToolcribError] = {}
        self._read_here: set[str] = set()
        # Servers whose tools count no longer, and whether a reading that begins after that is under way.
        self._expired: dict[str, bool] = {}
        self._closed = False

    @property
    def pending(self) -> int:
        """How many servers are being read, or wait for their turn, that nobody has read before."""
        return sum(not self._stock.was_read(server) for server in self._tasks)

    def refresh_due(self) -> None:
        """Start reading every server that needs it; returns at once."""
        for server in self._stock.due():
            self.refresh(server)

    def refresh(self, server: str) -> asyncio.Task[None] | None:
        """Read one server soon; asking again while it is being read adds one more reading, not many."""
        if self._closed or server not in self._stock.specs:
            return None
        running = self._tasks.get(server)
        if running is not None:
            self._again.add(server)
            return running
        # Noted now, while the reason to read is known: it may take long until it is this server's turn.
        self._stock.follow_others()
        record = self._stock.record(server)
        mark = record.read_at if record is not None else None
        task = asyncio.create_task(self._refresh(server, mark), name=f"read {server}")
        self._tasks[server] = task
        self._attempted[server] = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: self._finished(server))
        return task

    def changed(self, server: str) -> None:
        """The server says its tools changed: read it soon, once for all that is said within a second."""
        if server not in self._soon and not self._closed:
            loop = asyncio.get_running_loop()
            self._soon[server] = loop.call_later(COALESCE_SECONDS, self._read_soon, server)

    def expire(self, server: str) -> None:
        """What is known of a server counts no longer: whoever needs it next has it read first."""
        self._expired[server] = False

    async def need_all(self) -> None:
        """The same as `need` for every server, all at once."""
        await asyncio.gather(*(self.need(server) for server in list(self._stock.specs)))

    async def need(self, server: str) -> None:
        """Make sure a server was read before someone looks at its tools; a failure leaves what is known."""
        if server not in self._stock.specs:
            return
        first_need = server in self._expired or (self._always_reread and server not in self._read_here)
        if self._stock.was_read(server) and not first_need:
            if self._stock.is_old(server):
                self.refresh(server)
            return
        task = self._tasks.get(server) or self.refresh(server)
        if task is not None:
            self._turns.hurry(server)  # a few hung servers must not delay one that somebody asks for
            # Whoever waits hears of the first failure; further attempts are made behind the answer.
            await asyncio.wait({task, self._attempted[server]}, return_when=asyncio.FIRST_COMPLETED)

    async def read_now(self, server: str) -> None:
        """Read a server whatever is known of it; raises what kept us from it."""
        self._failures.pop(server, None)
        task = self.refresh(server)
        if task is not None:
            await asyncio.wait({task})
        if (failure := self.failure(server)) is not None:
            raise failure

    def failure(self, server: str) -> ToolcribError | None:
        """Why the last reading here of a server failed, if it did."""
        return self._failures.get(server)

    def unread_failure(self, server: str) -> ToolcribError | None:
        """Why a server's tools are not known, where reading it failed and it was never read before."""
        return None if self._stock.was_read(server) else self.failure(server)

    async def settle(self, seconds: float) -> None:
        """Wait until one of the running readings has brought tools, but no longer than `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._tasks and not self._stock.tool_count():
                    await asyncio.wait(set(self._tasks.values()), return_when=asyncio.FIRST_COMPLETED)

    def is_wanted(self, spec: ServerSpec) -> bool:
        """Whether the catalogue lacks a fresh reading of a configured server."""
        return self._stock.specs.get(spec.name) == spec and spec.name in self._stock.due()

    async def keep(self, spec: ServerSpec, reading: ServerReading) -> None:
        """Write down a reading that somebody else made of a configured server; any other server is none of our business."""
        if self._stock.specs.get(spec.name) == spec:
            try:
                await self._save(spec, reading)
            except StoreUnavailable as trouble:
                log.warning("%s: the catalogue could not be used: %s", spec.name, trouble.message)
            self._stock.follow_others()

    async def keep_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        """Write down why somebody else could not read a configured server."""
        if self._stock.specs.get(spec.name) == spec:
            try:
                await self._save_failure(spec, error)
            except StoreUnavailable as trouble:
                log.warning("%s: the catalogue could not be used: %s", spec.name, trouble.message)
            self._stock.follow_others()

    def configure(self, *, max_parallel: int, always_reread: bool) -> None:
        """Take over other limits; what runs goes on."""
        self._turns.resize(max_parallel)
        self._always_reread = always_reread

    async def close(self) -> None:
        self._closed = True
        for timer in self._soon.values():
            timer.cancel()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _attempt_failed(self, server: str, error: ToolcribError) -> None:
        self._failures[server] = error
        # After any other failure the reading is over in a moment.
        if error.retryable and not self._attempted[server].done():
            self._attempted[server].set_result(None)

    def _finished(self, server: str) -> None:
        self._tasks.pop(server, None)
        self._attempted.pop(server).cancel()
        if server in self._again:
            self._again.discard(server)
            self.changed(server)

    def _read_soon(self, server: str) -> None:
        del self._soon[server]
        self.refresh(server)

    async def _refresh(self, server: str, mark: float | None) -> None:
        turn = HeldTurn(self._turns, server, lambda error: self._attempt_failed(server, error))
        await turn.take()
        if server in self._expired:
            self._expired[server] = True
        try:
            if await self._lease(server, mark):
                await self._read(server, turn)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalogue could not be used: %s", server, trouble.message)
        finally:
            turn.give_back()
            self._release(server)
        self._read_here.add(server)
        if self._expired.get(server):  # not if it expired once more meanwhile
            del self._expired[server]
        self._stock.follow_others()

    async def _lease(self, server: str, mark: float | None) -> bool:
        """True when it is ours to read; False when another gateway has read it since `mark`."""
        while True:
            leased = self._store.try_lease(server, self._owner, self._now(), LEASE_SECONDS)
            record = self._store.servers().get(server)
            if record is not None and record.read_at not in (None, mark):
                return False
            if leased:
                return True
            await asyncio.sleep(LEASE_POLL_SECONDS)

    def _release(self, server: str) -> None:
        try:
            self._store.release_lease(server, self._owner)
        except StoreUnavailable:
            log.debug("the lease on %s could not be given back; it runs out by itself", server)

    async def _read(self, server: str, turn: HeldTurn) -> None:
        spec = self._stock.specs.get(server)
        if spec is None:
            return
        try:
            reading = await self._reader.read(server, turn)
        except ToolcribError as error:
            await self._save_failure(spec, error)
            return
        except Exception as error:
            # Nobody waits for this task's result: unless it is written down, the server would seem never to have been tried.
            log.exception("%s: reading it failed in an unforeseen way", server)
            message = f"reading it failed inside the gateway: {type(error).__name__}"
            await self._save_failure(spec, UpstreamError(message, server=server, hint="The log has the details."))
            return
        await self._save(spec, reading)
        self._on_read(server)

    async def _save(self, spec: ServerSpec, reading: ServerReading) -> None:
        self._failures.pop(spec.name, None)
        for warning in reading.warnings:
            log.warning("%s: %s", spec.name, warning)
        await asyncio.to_thread(self._stock.save, spec, reading)

    async def _save_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        self._failures[spec.name] = error
        await asyncio.to_thread(self._stock.save_failure, spec, error.message)
