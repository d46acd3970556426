"""Keeps the catalog fresh in the background, a few servers at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

from toolcrib.catalog.freshness import FIRST_RETRY_SECONDS
from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.discovery.journal import Journal
from toolcrib.discovery.leases import Leases
from toolcrib.discovery.slots import HeldTurn, Turns
from toolcrib.discovery.timers import Timers
from toolcrib.errors import CallTimeout, StoreUnavailable, ToolcribError, UpstreamError
from toolcrib.model.reading import ServerReading
from toolcrib.workspace.catalog_view import CatalogView

log = logging.getLogger(__name__)

COALESCE_SECONDS = 1.0
# Servers that could not be read are tried anew one at a time, beside those that are read for the first time.
PARALLEL_RETRIES = 1


class Reader(Protocol):
    """Whoever can read a server's tools now; each attempt runs within `slot`, waiting for another one does not."""

    async def read(self, server: str, slot: AbstractAsyncContextManager[object]) -> ServerReading: ...


class CatalogRefresher:
    """Reads servers that are due; several gateways share the work through leases in the catalog.

    A server that can't be read is remembered with the reason, and tried anew later, each time after a longer wait.
    """

    def __init__(
        self,
        view: CatalogView,
        store: CatalogStore,
        reader: Reader,
        *,
        owner: str,
        max_parallel: int,
        now: Callable[[], float],
        always_reread: bool = False,
        on_read: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._view = view
        self._reader = reader
        self._leases = Leases(store, owner, now)
        self._always_reread = always_reread
        self._on_read = on_read
        self._turns = Turns(max_parallel)
        self._retry_turns = Turns(PARALLEL_RETRIES)
        self._turns_of: dict[str, Turns] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._attempted: dict[str, asyncio.Future[None]] = {}
        self._again: set[str] = set()
        self._awaited: set[str] = set()
        self._leased: set[str] = set()
        self._soon = Timers(self.refresh)
        self._retries = Timers(self._try_anew)
        self._tries_anew = False
        self.journal = Journal(view)
        self._read_here: set[str] = set()
        # Servers whose tools count no longer, and whether a reading that begins after that is under way.
        self._expired: dict[str, bool] = {}
        self._closed = False

    @property
    def pending(self) -> int:
        """How many servers are being read for the first time, or wait for their turn."""
        return sum(map(self._is_first_reading, self._tasks))

    def refresh_due(self) -> None:
        """Start reading every server that needs it, and keep trying those that can't be read; returns at once."""
        self._tries_anew = True
        for server in self._view.due():
            wait = self._view.seconds_to_retry(server)
            if wait:
                self._retries.start(server, wait)
            else:
                self.refresh(server)

    def refresh(self, server: str) -> asyncio.Task[None] | None:
        """Read one server soon; asking again while it is being read adds one more reading, not many."""
        if self._closed or server not in self._view.specs:
            return None
        running = self._tasks.get(server)
        if running is not None:
            self._again.add(server)
            return running
        # Noted now, while the reason to read is known: it may take long until it is this server's turn.
        self._view.follow_others()
        self._retries.cancel(server)
        turns = self._turns if self._view.broken(server) is None else self._retry_turns
        task = asyncio.create_task(self._refresh(server, turns, self._view.record(server)), name=f"read {server}")
        self._tasks[server], self._turns_of[server] = task, turns
        self._attempted[server] = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: self._finished(server))
        return task

    def changed(self, server: str) -> None:
        """The server says its tools changed: read it soon, once for all that is said within a second."""
        if server not in self._soon and not self._closed:
            self._soon.start(server, COALESCE_SECONDS)

    def expire(self, server: str) -> None:
        """What is known of a server counts no longer: whoever needs it next has it read first."""
        self._expired[server] = False

    async def need_all(self) -> None:
        """The same as `need` for every server, all at once."""
        await asyncio.gather(*(self.need(server) for server in list(self._view.specs)))

    async def need(self, server: str) -> None:
        """Make sure a server was read before someone looks at its tools; a failure leaves what is known."""
        if server not in self._view.specs:
            return
        first_need = server in self._expired or (self._always_reread and server not in self._read_here)
        if self._view.was_read(server) and not first_need:
            if self._view.is_old(server):
                self.refresh(server)
            return
        task = self._tasks.get(server) or self.refresh(server)
        if isinstance(self.failure(server), CallTimeout):
            return  # It is known to hang: whoever asks hears that at once, and it is tried behind the answer.
        if task is not None:
            self._awaited.add(server)
            self._turns_of[server].hurry(server)  # a few hung servers must not delay one that somebody asks for
            # Whoever waits hears of the first failure; further attempts are made behind the answer.
            await asyncio.wait({task, self._attempted[server]}, return_when=asyncio.FIRST_COMPLETED)

    async def read_now(self, server: str) -> None:
        """Read a server whatever is known of it; raises what kept us from it."""
        self.journal.forget_failure(server)
        task = self.refresh(server)
        if task is not None:
            self._awaited.add(server)
            await asyncio.wait({task})
        if (failure := self.failure(server)) is not None:
            raise failure

    async def give_up(self, server: str, seconds: float) -> bool:
        """Stop reading a server that was waited for long enough; True where it is remembered that it takes longer.

        That another gateway has been reading it for so long says nothing yet.
        """
        task, spec = self._tasks.get(server), self._view.specs.get(server)
        if task is None or spec is None:
            return False
        is_ours = server in self._leased
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if is_ours:
            late = CallTimeout(f"not read within {seconds:g} s", server=server)
            await self.journal.keep_failure(spec, self.failure(server) or late)
        return is_ours

    def failure(self, server: str) -> ToolcribError | None:
        """Why the last reading here of a server failed, if it did."""
        return self.journal.failure(server)

    def unread_failure(self, server: str) -> ToolcribError | None:
        """Why a server's tools are not known, where reading it failed and it was never read before."""
        return self.journal.unread_failure(server)

    async def settle(self, seconds: float) -> None:
        """Wait until one of the running readings has brought tools, but no longer than `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._tasks and not self._view.tool_count():
                    await asyncio.wait(set(self._tasks.values()), return_when=asyncio.FIRST_COMPLETED)

    def configure(self, *, max_parallel: int, always_reread: bool) -> None:
        """Take over other limits; what runs goes on."""
        self._turns.resize(max_parallel)
        self._always_reread = always_reread

    async def close(self) -> None:
        self._closed = True
        self._soon.close()
        self._retries.close()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_first_reading(self, server: str) -> bool:
        return not (self._view.was_read(server) or self.failure(server) or self._view.broken(server))

    def _attempt_failed(self, server: str, error: ToolcribError) -> None:
        self.journal.note_failure(server, error)
        # After any other failure the reading is over in a moment.
        if error.retryable and not self._attempted[server].done():
            self._attempted[server].set_result(None)

    def _finished(self, server: str) -> None:
        self._tasks.pop(server, None)
        self._attempted.pop(server).cancel()
        self._turns_of.pop(server)
        self._awaited.discard(server)
        if server in self._again:
            self._again.discard(server)
            self.changed(server)

    def _try_anew(self, server: str) -> None:
        self._view.follow_others()
        try:
            if self._view.was_read(server) and self._view.broken(server) is None:
                self.journal.forget_failure(server)  # Another gateway could read it.
            else:
                self.refresh(server)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalog could not be used: %s", server, trouble.message)
            self._retries.start(server, FIRST_RETRY_SECONDS)

    async def _refresh(self, server: str, turns: Turns, known: ServerRecord | None) -> None:
        turn = HeldTurn(turns, server, lambda error: self._attempt_failed(server, error))
        await turn.take()
        if server in self._expired:
            self._expired[server] = True
        try:
            if await self._leases.take(server, lambda record: self._is_settled(server, known, record)):
                self._leased.add(server)
                await self._read(server, turn)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalog could not be used: %s", server, trouble.message)
        finally:
            turn.give_back()
            self._leased.discard(server)
            self._leases.give_back(server)
        self._read_here.add(server)
        if self._expired.get(server):  # not if it expired once more meanwhile
            del self._expired[server]
        self._view.follow_others()
        self._plan_retry(server)

    def _is_settled(self, server: str, known: ServerRecord | None, record: ServerRecord | None) -> bool:
        """Whether another gateway has read the server meanwhile, or failed to and nobody waits for it here."""
        if record is None:
            return False
        if record.read_at not in (None, known.read_at if known else None):
            return True
        has_failed = record.error_at not in (None, known.error_at if known else None)
        return has_failed and server not in self._awaited

    def _plan_retry(self, server: str) -> None:
        try:
            wait = self._view.seconds_to_retry(server)
        except StoreUnavailable:
            wait = None
        if wait is None and self.failure(server) is not None:
            wait = FIRST_RETRY_SECONDS  # The failure could not be written down.
        if self._tries_anew and wait is not None and server in self._view.specs:
            self._retries.start(server, wait)

    async def _read(self, server: str, turn: HeldTurn) -> None:
        spec = self._view.specs.get(server)
        if spec is None:
            return
        try:
            reading = await self._reader.read(server, turn)
        except ToolcribError as error:
            await self.journal.save_failure(spec, error)
            return
        except Exception as error:
            # Nobody waits for this task's result: unless it is written down, the server would seem never to have been tried.
            log.exception("%s: reading it failed in an unforeseen way", server)
            message = f"reading it failed inside the gateway: {type(error).__name__}"
            await self.journal.save_failure(
                spec, UpstreamError(message, server=server, hint="The log has the details.")
            )
            return
        await self.journal.save(spec, reading)
        self._on_read(server)
