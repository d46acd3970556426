"""A discovery service over servers in memory or over HTTP, whose waits take no time and are remembered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes import Clock
from toolcrib.discovery.cache import MCPCache
from toolcrib.discovery.reads import ServerReads
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.engine.engine import Opener
from toolcrib.limits.rate import RateLimiter
from toolcrib.model.server import ServerSpec
from toolcrib.storage.cache_files import FolderCache
from toolcrib.storage.memory_buckets import MemoryBuckets
from toolcrib.upstream.connection import ConnectionPolicy
from toolcrib.upstream.pool import Pool

POLICY = ConnectionPolicy(client_info={"name": "toolcrib", "version": "0"}, probe_seconds=1.0, call_seconds=5.0)


class Desk:
    """The service, and what can be seen of its insides."""

    def __init__(
        self,
        opener: Opener,
        folder: Path | None = None,
        configured: Sequence[ServerSpec] = (),
        policy: ConnectionPolicy = POLICY,
        **parts: Any,
    ) -> None:
        self.clock = Clock()
        self.waits: list[float] = []
        self.configured = configured
        self.pool = Pool(
            opener,
            policy,
            known_identity=lambda _: None,
            on_connected=lambda *_: None,
            on_tools_changed=lambda _: None,
        )
        self.limiter = RateLimiter(MemoryBuckets(self.clock), sleep=self.sleep)
        self.reads = ServerReads(self.pool, self.limiter, sleep=self.sleep, random=lambda: 0.5)
        self.cache = MCPCache(FolderCache(folder) if folder else None, now=self.clock)
        self.service = MCPDiscoveryService(self.reads, self.cache, configured=lambda: self.configured, **parts)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(seconds)


@asynccontextmanager
async def desk(
    opener: Opener, *configured: ServerSpec, folder: Path | None = None, **parts: Any
) -> AsyncIterator[Desk]:
    made = Desk(opener, folder, configured, **parts)
    await made.pool.serve(configured)
    try:
        yield made
    finally:
        await made.pool.close()
        await opener.close()


class FakeRegistry:
    """Answers every query with the same entries; each names its server and its address."""

    def __init__(self, *entries: Mapping[str, Any]) -> None:
        self.entries = entries
        self.queries: list[str] = []
        self.specs: dict[str, ServerSpec] = {}

    def offer(self, spec: ServerSpec) -> None:
        self.specs[spec.name] = spec
        self.entries = (*self.entries, {"name": spec.name})

    async def search(self, query: str) -> Sequence[Mapping[str, Any]]:
        self.queries.append(query)
        return self.entries

    def server_config(self, entry: Mapping[str, Any]) -> ServerSpec | None:
        return self.specs.get(entry["name"])
