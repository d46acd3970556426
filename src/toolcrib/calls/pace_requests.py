"""A bound on how often a server is asked something besides calls, where the configuration sets one for calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from toolcrib.calls.chain import CallTool
from toolcrib.errors import RateLimited
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.server import ServerSpec

WAIT_SECONDS = 30.0
MOST_WAITING = 100


class PaceRequests:
    """Lets requests about tasks, and those to hear of a resource, take turns at the rate that calls to their server have.

    They wait instead of being refused: a client takes a refusal for the end of its task. And they are counted apart from calls,
    so that neither keeps the others out.
    """

    def __init__(self, limiter: RateLimiter, limit_of: Callable[[ServerSpec], RateLimitConfig | None]) -> None:
        self._limiter = limiter
        self._limit_of = limit_of
        self._turns: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        spec = None if call.target is None else call.target.spec
        limit = None if spec is None else self._limit_of(spec)
        if limit is not None and spec is not None:
            await self._turn(call.server, spec.launch_key, limit)
        return await call_next(call)

    async def _turn(self, server: str, key: str, limit: RateLimitConfig) -> None:
        """Wait until it is this request's turn; raises RateLimited where that would take too long."""
        if self._waiting[key] >= MOST_WAITING:
            raise _too_many(server, limit)
        self._waiting[key] += 1
        try:
            # One after the other, or the last of many that wake up together might wait for ever.
            async with asyncio.timeout(WAIT_SECONDS), self._turns.setdefault(key, asyncio.Lock()):
                await self._limiter.acquire(f"beside {key}", limit)
        except TimeoutError:
            raise _too_many(server, limit) from None
        finally:
            self._waiting[key] -= 1


def _too_many(server: str, limit: RateLimitConfig) -> RateLimited:
    return RateLimited(
        f"too many requests wait for {server}, which accepts {limit.requests_per_second:g} a second (callRate)",
        retry_after_seconds=WAIT_SECONDS,
        hint=f"Try again in {WAIT_SECONDS:g} s.",
    )
