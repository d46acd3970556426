"""A bound on what one HTTP client may take of what all of them share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from toolcrib.calls.chain import CallTool
from toolcrib.errors import Overloaded, RateLimited
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.model.call import ToolCall, ToolResult

HTTP = "http"


class LimitCallers:
    """Rejects calls of an HTTP client that runs too many, or calls too often; other callers are the person's own programs."""

    def __init__(
        self, limiter: RateLimiter, rate: Callable[[], RateLimitConfig | None], most: Callable[[], int]
    ) -> None:
        self._limiter = limiter
        self._rate = rate
        self._most = most
        self._running: Counter[str] = Counter()

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        if call.caller.face != HTTP:
            return await call_next(call)
        key = call.caller.key
        if self._running[key] >= self._most():
            raise Overloaded(
                f"{self._running[key]} calls of this client are already running (http.callerCalls)",
                hint="Wait for some to finish, then try again.",
            )
        self._running[key] += 1
        try:
            await self._take_turn(call)
            return await call_next(call)
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]

    async def _take_turn(self, call: ToolCall) -> None:
        # A call that goes on after an interim result was counted when it began; the state is one that we have sealed.
        goes_on = call.round is not None and call.round.state is not None
        limit = None if goes_on else self._rate()
        wait = 0.0 if limit is None else await self._limiter.try_acquire(f"caller {call.caller.key}", limit)
        if limit is not None and wait > 0:
            raise RateLimited(
                f"this client may make {limit.requests_per_second:g} calls a second (http.callerRate)",
                retry_after_seconds=round(wait, 3),
                hint=f"Try again in {wait:.1f} s.",
            )
