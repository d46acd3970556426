"""The registries over the network, with the HTTP settings that all our requests have."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from toolcrib.config.settings import Settings
from toolcrib.engine.from_settings import retry_policy
from toolcrib.engine.registry_addresses import registry_addresses
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.registry.answers import Answers
from toolcrib.registry.client import RegistryClient
from toolcrib.registry.mirror import Mirror
from toolcrib.registry.registries import Registries
from toolcrib.registry.sync import SyncReport, sync
from toolcrib.storage.memory_buckets import MemoryBuckets
from toolcrib.upstream.web import open_web
from toolcrib.version import VERSION

OnPage = Callable[[str, int, int], None]


@asynccontextmanager
async def open_clients(
    settings: Settings, answers: Answers, limiter: RateLimiter | None = None
) -> AsyncIterator[list[RegistryClient]]:
    """One client for each registry, in order; they share connections, and with `limiter` the rate of whoever asked before."""
    buckets = limiter or RateLimiter(MemoryBuckets(time.monotonic))
    async with open_web(
        user_agent=f"toolcrib/{VERSION}",
        connect_seconds=settings.connect_timeout_seconds,
        seconds=settings.list_timeout_seconds,
        max_bytes=settings.max_http_body_bytes,
    ) as web:
        yield [
            RegistryClient(
                address,
                web,
                limiter=buckets,
                rate=RateLimitConfig(settings.registry_rate, burst_size=1),  # evenly: nobody waits for these
                retries=retry_policy(settings),
                answers=answers,
            )
            for address in registry_addresses(settings)
        ]


@asynccontextmanager
async def open_registries(
    settings: Settings, answers: Answers, limiter: RateLimiter | None = None
) -> AsyncIterator[Registries]:
    """All registries as one."""
    async with open_clients(settings, answers, limiter) as clients:
        yield Registries(clients)


async def sync_one(settings: Settings, mirror: Mirror, address: str, *, is_full: bool, on_page: OnPage) -> SyncReport:
    """Bring the copy of one registry up to date."""
    async with open_clients(settings, mirror) as clients:
        client = next(client for client in clients if client.base_url == address)
        return await sync(
            client,
            mirror,
            now=time.time,
            is_full=is_full,
            on_page=lambda pages, entries: on_page(address, pages, entries),
        )
