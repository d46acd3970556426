"""Background work on the search index: new tools are indexed, encoded and written down while the gateway serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from toolcrib.errors import StoreUnavailable
from toolcrib.workspace.search_index import SearchIndex
from toolcrib.workspace.tool_search import ToolSearch

log = logging.getLogger(__name__)


class Indexer:
    """Keeps the index up to date with what all workspaces show; a search never waits for it.

    `when_learnt` is called in a thread, each time that something was learnt and nothing is left.
    """

    def __init__(
        self,
        index: SearchIndex,
        searches: Callable[[], Iterable[ToolSearch]],
        when_learnt: Callable[[], None] = lambda: None,
    ) -> None:
        self._search_index = index
        self._searches = searches
        self._when_learnt = when_learnt
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, when_indexed: Callable[[], None]) -> None:
        """Begin, if that was not done; `when_indexed` is called once, as soon as all tools can be found by their words."""
        if self._task is not None:
            return
        self._changed.set()
        self._task = asyncio.create_task(self._work(when_indexed), name="indexer")

    def notice(self) -> None:
        """There may be tools to index."""
        self._changed.set()

    async def settle(self, seconds: float) -> bool:
        """Wait until nothing is left to learn, but no longer than `seconds`; whether that was reached."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(0)
                while self._changed.is_set() or not self._settled.is_set():
                    await self._settled.wait()
                    await asyncio.sleep(0)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self, when_indexed: Callable[[], None]) -> None:
        tell = when_indexed
        # In a thread: loading takes a while, and the first request of a client should not wait for it.
        await asyncio.to_thread(self._search_index.open)
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._settled.clear()
            try:
                await self._index()
                await self._recall()
                tell()
                tell = _nothing
                # Already now: learning takes long, and the next start should not have to index again.
                await self._write()
                learnt = await self._learn()
                await self._write()
                if learnt:
                    await self._tell_learnt()
            except StoreUnavailable as trouble:
                log.warning("the search index waits for the catalog: %s", trouble.message)
            except Exception as trouble:  # the next change of a tool is indexed all the same
                log.warning("the search index could not be renewed: %r", trouble, exc_info=_is_debug())
            self._settled.set()

    async def _index(self) -> None:
        for search in tuple(self._searches()):
            for _ in iter(search.index_next, False):
                await asyncio.sleep(0)  # others first

    async def _recall(self) -> None:
        """What an earlier run worked out need not be worked out again."""
        waiting = self._search_index.unencoded()
        if waiting:
            known = await asyncio.to_thread(self._search_index.recalled, waiting)
            self._search_index.take_recalled(waiting, known)

    async def _learn(self) -> bool:
        """EncodingBatch by batch; what was added meanwhile is indexed in between. Whether there was any batch."""
        learnt = False
        while (batch := self._search_index.next_batch()) is not None:
            vectors = await asyncio.to_thread(batch.learn)
            self._search_index.take(batch, vectors)
            await self._index()
            learnt = True
        return learnt

    async def _tell_learnt(self) -> None:
        try:
            await asyncio.to_thread(self._when_learnt)
        except Exception:  # learning goes on, whatever others make of it
            log.debug("a function that runs after indexing failed", exc_info=True)

    async def _write(self) -> None:
        write = self._search_index.to_write()
        if write is not None:
            await asyncio.to_thread(write)


def _is_debug() -> bool:
    return log.isEnabledFor(logging.DEBUG)


def _nothing() -> None:
    """Said once is enough."""
