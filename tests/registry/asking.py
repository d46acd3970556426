"""Clients for the test registry, and waiting that takes no time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.registry import Registry
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.limits.retry import RetryPolicy
from toolcrib.registry.answers import Answers, KeptAnswer
from toolcrib.registry.client import RegistryClient
from toolcrib.registry.mirror import Mirror
from toolcrib.upstream.web import open_web


@dataclass
class Waits:
    """Counts the requests that were let through and the seconds that were asked for."""

    seconds: list[float] = field(default_factory=list)
    acquired: int = 0

    async def take(self, key: str, limit: RateLimitConfig) -> float:
        self.acquired += 1
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


NO_CHANCE: Callable[[], float] = lambda: 0.5  # noqa: E731 (half of the jitter is none)
PATIENT = RetryPolicy()
RATE = RateLimitConfig(2.0, burst_size=1)


class NoAnswers:
    """Keeps nothing."""

    def get(self, url: str) -> KeptAnswer | None:
        return None

    def put(self, url: str, etag: str, body: bytes) -> None:
        """Forget it at once."""


@asynccontextmanager
async def asking(
    registry: Registry,
    *,
    waits: Waits | None = None,
    answers: Answers | None = None,
    seconds: float = 10.0,
    max_bytes: int = 1_000_000,
    most_pages: int = 100,
    base_url: str = "",
    retries: RetryPolicy = PATIENT,
    limiter: RateLimiter | None = None,
) -> AsyncIterator[RegistryClient]:
    waits = waits or Waits()
    async with open_web(user_agent="toolcrib/test", connect_seconds=5, seconds=seconds, max_bytes=max_bytes) as web:
        yield RegistryClient(
            base_url or registry.url,
            web,
            limiter=limiter or RateLimiter(waits),
            rate=RATE,
            retries=retries,
            answers=answers or NoAnswers(),
            sleep=waits.sleep,
            random=NO_CHANCE,
            most_pages=most_pages,
        )


def mirror_at(folder: Path, now: Callable[[], float], fresh_seconds: float = 3600.0) -> Mirror:
    return Mirror(folder / "cache" / "registry.db", now=now, fresh_seconds=fresh_seconds)
