"""Keeps the catalog fresh in the background, a few servers at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

from toolcrib.catalog.followed import Aside, FollowedCatalog
from toolcrib.catalog.freshness import FIRST_RETRY_SECONDS, Freshness
from toolcrib.catalog.store import ServerRecord
from toolcrib.discovery.journal import Journal, ReadingReview
from toolcrib.discovery.leases import Leases
from toolcrib.discovery.slots import HeldTurn, Turns
from toolcrib.discovery.timers import Timers
from toolcrib.errors import CallTimeout, StoreUnavailable, ToolcribError, UpstreamError
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec

log = logging.getLogger(__name__)

COALESCE_SECONDS = 1.0
# Servers that could not be read are tried anew one at a time, beside those that are read for the first time.
PARALLEL_RETRIES = 1


class Reader(Protocol):
    """Whoever can read a server's tools now; each attempt runs within `slot`, waiting for another one does not."""

    async def read(self, spec: ServerSpec, slot: AbstractAsyncContextManager[object]) -> ServerReading: ...


class CatalogRefresher:
    """Reads servers that are due; several processes share the work through leases in the catalog.

    A server that can't be read is remembered with the reason, and tried anew later, each time after a longer wait.
    `specs` are the servers that some workspace shows, by launch key.
    """

    def __init__(
        self,
        catalog: FollowedCatalog,
        reader: Reader,
        specs: Callable[[], Mapping[str, ServerSpec]],
        *,
        owner: str,
        max_parallel: int,
        freshness: Freshness,
        always_reread: bool = False,
        aside: Aside = asyncio.to_thread,
        review: ReadingReview | None = None,
    ) -> None:
        self._catalog = catalog
        self._reader = reader
        self._specs = specs
        self._freshness = freshness
        self._leases = Leases(catalog.store, owner, catalog.now, aside)
        self._always_reread = always_reread
        self._turns = Turns(max_parallel)
        self._retry_turns = Turns(PARALLEL_RETRIES)
        # All by launch key.
        self._turns_of: dict[str, Turns] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._attempted: dict[str, asyncio.Future[None]] = {}
        self._begun: set[str] = set()
        self._again: set[str] = set()
        self._awaited: set[str] = set()
        self._leased: set[str] = set()
        self._soon = Timers(self._refresh_known)
        self._retries = Timers(self._try_anew)
        self._tries_anew = False
        self._looking: set[asyncio.Task[None]] = set()
        self.journal = Journal(catalog, specs, review)
        self._read_here: set[str] = set()
        # Servers whose tools count no longer, and whether a reading that begins after that is under way.
        self._expired: dict[str, bool] = {}
        self._closed = False

    def configure(self, *, max_parallel: int, freshness: Freshness, always_reread: bool) -> None:
        """Take over other limits; what runs goes on."""
        self._turns.resize(max_parallel)
        self._freshness = freshness
        self._always_reread = always_reread

    def pending(self, specs: Mapping[str, ServerSpec]) -> int:
        """How many of these servers are being read for the first time, or wait for their turn."""
        return sum(spec.launch_key in self._tasks and self._is_first_reading(spec) for spec in specs.values())

    def refresh_due(self) -> None:
        """Start reading every server that needs it, and keep trying those that can't be read; returns at once."""
        self._tries_anew = True
        for spec in self._specs().values():
            if not self._freshness.is_due(spec, self._catalog.record(spec), self._catalog.now()):
                continue
            wait = self.seconds_to_retry(spec)
            if wait:
                self._retries.start(spec.launch_key, wait)
            else:
                self.refresh(spec)

    def seconds_to_retry(self, spec: ServerSpec) -> float | None:
        """How long a server whose last reading failed should be left alone; None where it did not fail."""
        record = self._catalog.broken(spec)
        return None if record is None else self._freshness.seconds_to_retry(record, self._catalog.now())

    def refresh(self, spec: ServerSpec) -> asyncio.Task[None] | None:
        """Read one server soon; asking again while it is being read adds one more reading, not many."""
        key = spec.launch_key
        if self._closed or key not in self._specs():
            return None
        running = self._tasks.get(key)
        if running is not None:
            self._again.add(key)
            return running
        self._retries.cancel(key)
        self._soon.cancel(key)  # what was said until now is in this reading
        turns = self._turns if self._catalog.broken(spec) is None else self._retry_turns
        # The record is noted now, while the reason to read is known: it may take long until it is this server's turn.
        known = self._catalog.records.get(key)
        task = asyncio.create_task(self._refresh(spec, turns, known), name=f"read {spec.name}")
        self._tasks[key], self._turns_of[key] = task, turns
        self._attempted[key] = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: self._finished(key))
        return task

    def changed(self, spec: ServerSpec, *, expires: bool = False) -> None:
        """The server says its tools changed: read it soon, once for all that is said within a second.

        With `expires` whoever needs them before that has it read first.
        """
        if expires:
            self.expire(spec)
        self._change_of(spec.launch_key)

    def expire(self, spec: ServerSpec) -> None:
        """What is known of a server counts no longer: whoever needs it next has it read first."""
        self._expired[spec.launch_key] = False

    def expire_older(self, spec: ServerSpec, seconds: float) -> None:
        """The same, if it was read longer ago than that. One that failed since is left alone until it is tried again."""
        record = self._catalog.record(spec)
        if record is None or record.read_at is None or self.seconds_to_retry(spec):
            return
        if self._catalog.now() - record.read_at > seconds:
            self.expire(spec)

    async def need_all(self, specs: Mapping[str, ServerSpec]) -> None:
        """The same as `need` for these servers, all at once."""
        await asyncio.gather(*(self.need(spec) for spec in list(specs.values())))

    async def need(self, spec: ServerSpec) -> None:
        """Make sure a server was read before someone looks at its tools; a failure leaves what is known."""
        key = spec.launch_key
        first_need = key in self._expired or (self._always_reread and key not in self._read_here)
        if self._catalog.was_read(spec) and not first_need:
            if self._is_old(spec):
                self.refresh(spec)
            return
        await self._catalog.follow()  # another process may have read it by now
        if self._catalog.was_read(spec) and not first_need:
            return
        await self._read_first(spec)
        if key in self._expired and not self._expired[key]:  # it changed while it was being read
            await self._read_first(spec)

    async def _read_first(self, spec: ServerSpec) -> None:
        key = spec.launch_key
        task = self._tasks.get(key) or self.refresh(spec)
        if isinstance(self.failure(spec), CallTimeout):
            return  # It is known to hang: whoever asks hears that at once, and it is tried behind the answer.
        if task is not None:
            self._awaited.add(key)
            self._turns_of[key].hurry(key)  # a few hung servers must not delay one that somebody asks for
            # Whoever waits hears of the first failure; further attempts are made behind the answer.
            await asyncio.wait({task, self._attempted[key]}, return_when=asyncio.FIRST_COMPLETED)

    async def read_now(self, spec: ServerSpec) -> None:
        """Read a server whatever is known of it, from now on; raises what kept us from it."""
        key = spec.launch_key
        self.journal.forget_failure(spec)
        if key in self._begun:
            # It may have listed already what has changed since.
            await asyncio.wait({self._tasks[key]})
        task = None if self.failure(spec) else self._tasks.get(key) or self.refresh(spec)
        if task is not None:
            self._awaited.add(key)
            await asyncio.wait({task})
        if (failure := self.failure(spec)) is not None:
            raise failure

    async def give_up(self, spec: ServerSpec, seconds: float) -> bool:
        """Stop reading a server that was waited for long enough; True where it is remembered that it takes longer.

        That another process has been reading it for so long says nothing yet.
        """
        task = self._tasks.get(spec.launch_key)
        if task is None:
            return False
        is_ours = spec.launch_key in self._leased
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if is_ours:
            late = CallTimeout(f"not read within {seconds:g} s", server=spec.name)
            await self.journal.keep_failure(spec, self.failure(spec) or late)
        return is_ours

    def failure(self, spec: ServerSpec) -> ToolcribError | None:
        """Why the last reading here of a server failed, if it did."""
        return self.journal.failure(spec)

    def unread_failure(self, spec: ServerSpec) -> ToolcribError | None:
        """Why a server's tools are not known, where reading it failed and it was never read before."""
        return self.journal.unread_failure(spec)

    async def settle(self, seconds: float, has_tools: Callable[[], bool]) -> None:
        """Wait until one of the running readings has brought tools, but no longer than `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._tasks and not has_tools():
                    await asyncio.wait(set(self._tasks.values()), return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        self._closed = True
        self._soon.close()
        self._retries.close()
        tasks = [*self._tasks.values(), *self._looking]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_old(self, spec: ServerSpec) -> bool:
        record = self._catalog.record(spec)
        return record is not None and self._freshness.is_old(record, self._catalog.now())

    def _is_first_reading(self, spec: ServerSpec) -> bool:
        return not (self._catalog.was_read(spec) or self.failure(spec) or self._catalog.broken(spec))

    def _attempt_failed(self, spec: ServerSpec, error: ToolcribError) -> None:
        self.journal.note_failure(spec, error)
        # After any other failure the reading is over in a moment.
        if error.retryable and not self._attempted[spec.launch_key].done():
            self._attempted[spec.launch_key].set_result(None)

    def _finished(self, key: str) -> None:
        self._tasks.pop(key, None)
        self._attempted.pop(key).cancel()
        self._turns_of.pop(key)
        self._awaited.discard(key)
        self._begun.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._change_of(key)

    def _change_of(self, key: str) -> None:
        if key not in self._soon and not self._closed:
            self._soon.start(key, COALESCE_SECONDS)

    def _refresh_known(self, key: str) -> None:
        spec = self._specs().get(key)
        if spec is not None:
            self.refresh(spec)

    def _try_anew(self, key: str) -> None:
        spec = self._specs().get(key)
        if spec is not None:
            task = asyncio.create_task(self._look_and_try(spec))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def _look_and_try(self, spec: ServerSpec) -> None:
        await self._catalog.follow()
        if self._catalog.was_read(spec) and self._catalog.broken(spec) is None:
            self.journal.forget_failure(spec)  # Another process could read it.
        else:
            self.refresh(spec)

    async def _refresh(self, spec: ServerSpec, turns: Turns, known: ServerRecord | None) -> None:
        key = spec.launch_key
        turn = HeldTurn(turns, key, lambda error: self._attempt_failed(spec, error))
        await turn.take()
        self._begun.add(key)
        if key in self._expired:
            self._expired[key] = True
        try:
            if await self._leases.take(key, lambda record: self._is_settled(key, known, record)):
                self._leased.add(key)
                await self._read(spec, turn)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalog could not be used: %s", spec.name, trouble.message)
        finally:
            turn.give_back()
            self._leased.discard(key)
            await self._leases.give_back(key)
        self._read_here.add(key)
        if self._expired.get(key):  # not if it expired once more meanwhile
            del self._expired[key]
        await self._catalog.follow()
        self._plan_retry(spec)

    def _is_settled(self, key: str, known: ServerRecord | None, record: ServerRecord | None) -> bool:
        """Whether another process has read the server meanwhile, or failed to and nobody waits for it here."""
        if record is None:
            return False
        if record.read_at not in (None, known.read_at if known else None):
            return True
        has_failed = record.error_at not in (None, known.error_at if known else None)
        return has_failed and key not in self._awaited

    def _plan_retry(self, spec: ServerSpec) -> None:
        wait = self.seconds_to_retry(spec)
        if wait is None and self.failure(spec) is not None:
            wait = FIRST_RETRY_SECONDS  # The failure could not be written down.
        if self._tries_anew and wait is not None and spec.launch_key in self._specs():
            self._retries.start(spec.launch_key, wait)

    async def _read(self, spec: ServerSpec, turn: HeldTurn) -> None:
        if spec.launch_key not in self._specs():
            return
        self.journal.prepare()
        try:
            reading = await self._reader.read(spec, turn)
        except ToolcribError as error:
            await self.journal.save_failure(spec, error)
            return
        except Exception as error:
            # Nobody waits for this task's result: unless it is written down, the server would seem never to have been tried.
            log.exception("%s: reading it failed in an unforeseen way", spec.name)
            message = f"reading it failed inside the gateway: {type(error).__name__}"
            await self.journal.save_failure(
                spec, UpstreamError(message, server=spec.name, hint="The log has the details.")
            )
            return
        await self.journal.save(spec, reading)
