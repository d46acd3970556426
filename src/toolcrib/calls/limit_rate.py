"""A bound on how often one server is called, where the configuration sets one."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.calls.chain import CallTool
from toolcrib.errors import RateLimited
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.server import ServerSpec


class LimitRate:
    """Rejects calls over the rate at once and says how long to wait, so that no caller is kept in a queue."""

    def __init__(self, limiter: RateLimiter, limit_of: Callable[[ServerSpec], RateLimitConfig | None]) -> None:
        self._limiter = limiter
        self._limit_of = limit_of

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        spec = None if call.target is None else call.target.spec
        # A call that goes on after an interim result was counted when it began; the state is one that we have sealed.
        goes_on = call.round is not None and call.round.state is not None
        limit = None if spec is None or goes_on else self._limit_of(spec)
        if limit is not None and spec is not None:
            wait = await self._limiter.try_acquire(f"call {spec.launch_key}", limit)
            if wait > 0:
                raise RateLimited(
                    f"{call.server} accepts at most {limit.requests_per_second:g} calls a second (callRate)",
                    retry_after_seconds=round(wait, 3),
                    hint=f"Try again in {wait:.1f} s.",
                )
        return await call_next(call)
