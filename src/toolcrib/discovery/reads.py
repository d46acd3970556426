"""Every reading of a server passes here: a token first, then the visit, and again where a failure may pass."""

from __future__ import annotations

import asyncio
import random as chance
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.protocols import ServerAccess, Visit
from toolcrib.limits.rate import RateLimitConfig, RateLimiter, Sleep
from toolcrib.limits.retry import retrying
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import RemoteLaunch, ServerSpec

T = TypeVar("T")


class ServerReads:
    """Visits servers at the rate they allow."""

    def __init__(
        self,
        access: ServerAccess,
        limiter: RateLimiter,
        *,
        sleep: Sleep = asyncio.sleep,
        random: Callable[[], float] = chance.random,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._access = access
        self._limiter = limiter
        self._sleep = sleep
        self._random = random
        self._monotonic = monotonic

    async def visiting(
        self,
        spec: ServerSpec,
        work: Callable[[Visit], Awaitable[T]],
        options: DiscoveryOptions,
        slot: AbstractAsyncContextManager[object] | None = None,
    ) -> T:
        """What `work` learns from a server; each attempt takes a token, then runs within `slot`."""
        trying = _Stopwatch(self._monotonic)

        async def attempt() -> T:
            await self._limiter.acquire(endpoint_of(spec), reading_limit(spec, options.rate_limit))
            async with slot or nullcontext(), self._access.visit(spec) as visit:
                with trying:
                    return await work(visit)

        return await retrying(
            attempt,
            options.retry_policy,
            sleep=self._sleep,
            random=self._random,
            seconds_spent=lambda: trying.seconds,
        )


class _Stopwatch:
    """Adds up the time within its blocks."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._began = 0.0
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._began = self._monotonic()

    def __exit__(self, *_: object) -> None:
        self.seconds += self._monotonic() - self._began


class ConfiguredReads:
    """Reads whole servers with the options of the configuration in force."""

    def __init__(self, reads: ServerReads, options: Callable[[], DiscoveryOptions]) -> None:
        self._reads = reads
        self._options = options

    async def read(self, spec: ServerSpec, slot: AbstractAsyncContextManager[object] | None = None) -> ServerReading:
        return await self._reads.visiting(spec, _whole, self._options(), slot)


def reading_limit(spec: ServerSpec, usual: RateLimitConfig) -> RateLimitConfig:
    """How often a server may be read: as its entry says, else as all may."""
    return replace(
        usual,
        requests_per_second=spec.discovery_rate or usual.requests_per_second,
        burst_size=spec.discovery_burst or usual.burst_size,
    )


def endpoint_of(spec: ServerSpec) -> str:
    """What is asked, whatever it is called: the address, or the command line. May hold secrets."""
    if isinstance(spec.launch, RemoteLaunch):
        return spec.launch.url
    return " ".join((spec.launch.command, *spec.launch.args))


async def _whole(visit: Visit) -> ServerReading:
    return await visit.read()
