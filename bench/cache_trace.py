"""How often the cache answers on ordinary days: a made-up trace of sessions, put to the gateway's own cache and catalog.

Agents of a few clients search, read the details of a tool and run it. Which tool is drawn by Zipf's law. Each of these
steps asks for the tools of the servers it needs, and the cache counts whether it could answer: a search for the servers
of its hits, details and a run for one server. What the cache does not know is read, and kept for 24 hours. A server that
announces other tools is cleared, so the next question about it counts as a miss. The gateway itself does better: it reads
such a server in the background, and answers from what it knew before meanwhile. The clock is moved by hand.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bench.catalog import server_names, tools_of
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.freshness import Freshness
from toolcrib.discovery.cache import DAY_SECONDS, CacheStats, MCPCache
from toolcrib.discovery.catalog_tools import CatalogTools
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.storage.sqlite import SqliteCatalog

WORKDAY_BEGINS, WORKDAY_SECONDS = 8 * 3600.0, 10 * 3600.0
SECONDS_BETWEEN_STEPS = 20.0


@dataclass(frozen=True)
class Habits:
    """What happens in a day: sessions of each client, tasks of each session, and servers that announce other tools.

    A restless server does so every hour, any other one on one day of five. No hits: searches are left out of the count.
    """

    servers: int = 100
    tools_each: int = 10
    clients: int = 4
    sessions: int = 10
    tasks: int = 8
    hits_of_a_search: int = 5
    restless_servers: int = 5
    quiet_change_chance: float = 0.2


@dataclass(frozen=True, order=True)
class Moment:
    """A server is asked about, or announces other tools."""

    at: float
    server: str
    is_change: bool = False


def day(habits: Habits, chance: random.Random, begins: float) -> list[Moment]:
    """Everything that happens on one day, in order."""
    names = server_names(habits.servers)
    return sorted([*_questions(habits, chance, begins, names), *_changes(habits, chance, begins, names)])


def _questions(habits: Habits, chance: random.Random, begins: float, names: list[str]) -> Iterator[Moment]:
    # The same tools are popular every day and with every client, whatever server they are on.
    tools = [name for name in names for _ in range(habits.tools_each)]
    random.Random(1).shuffle(tools)
    popularity = list(accumulate(1 / rank for rank in range(1, len(tools) + 1)))
    for _ in range(habits.clients * habits.sessions):
        at = begins + WORKDAY_BEGINS + chance.random() * WORKDAY_SECONDS
        for _ in range(habits.tasks):
            wanted, *others = chance.choices(tools, cum_weights=popularity, k=max(1, habits.hits_of_a_search))
            yield from (Moment(at, server) for server in (wanted, *others)[: habits.hits_of_a_search])
            yield Moment(at + SECONDS_BETWEEN_STEPS, wanted)
            yield Moment(at + 2 * SECONDS_BETWEEN_STEPS, wanted)
            at += 5 * SECONDS_BETWEEN_STEPS


def _changes(habits: Habits, chance: random.Random, begins: float, names: list[str]) -> Iterator[Moment]:
    for number, name in enumerate(names):
        if number < habits.restless_servers:
            yield from (Moment(begins + hour * 3600.0, name, is_change=True) for hour in range(24))
        elif chance.random() < habits.quiet_change_chance:
            yield Moment(begins + chance.random() * DAY_SECONDS, name, is_change=True)


class TracedCache:
    """The cache of the discovery service over a catalog of configured servers, at a time of our own."""

    def __init__(self, file: Path, habits: Habits) -> None:
        self.now = 0.0
        names = server_names(habits.servers)
        self._specs = {name: ServerSpec(name, StdioLaunch(sys.executable, (name,))) for name in names}
        self._tools_each = habits.tools_each
        self._store = SqliteCatalog(file)
        self._catalog = Catalog(self._store, now=lambda: self.now)
        known = CatalogTools(self._catalog, self._specs.values, Freshness)
        self._cache = MCPCache(None, now=lambda: self.now, configured=known)

    def live(self, moments: list[Moment]) -> CacheStats:
        """What the cache counted while all of these happened."""
        before = self._cache.stats
        for moment in moments:
            self.now = moment.at
            if moment.is_change:
                self._cache.clear_server(moment.server)
            elif self._cache.get_tools(moment.server) is None:
                self._read(self._specs[moment.server])
        after = self._cache.stats
        return CacheStats(after.hits - before.hits, after.misses - before.misses)

    def close(self) -> None:
        self._store.close()

    def _read(self, spec: ServerSpec) -> None:
        tools = tuple(tools_of(spec.name)[: self._tools_each])
        reading = ServerReading(Identity("modern", "2026-07-28"), tools)
        self._store.save_reading(spec.name, spec.launch_key, reading, self.now)
        self._catalog.look()


def traced_days(file: Path, habits: Habits, days: int) -> list[CacheStats]:
    """What the cache counted on each of these days, the same every time; nothing is known before the first one."""
    chance, traced = random.Random(7), TracedCache(file, habits)
    try:
        return [traced.live(day(habits, chance, number * DAY_SECONDS)) for number in range(days)]
    finally:
        traced.close()


def missed_share(stats: CacheStats) -> float:
    """The questions for which a server had to be read, in percent."""
    return 100 * stats.misses / (stats.hits + stats.misses)
