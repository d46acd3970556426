"""Trying again after a failure that may pass, a little later each time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from toolcrib.errors import ToolcribError
from toolcrib.limits.rate import Sleep

log = logging.getLogger(__name__)

# Beyond this many doublings every wait is as long as it may get, and the power would overflow.
_MOST_STEPS = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and when; a wait that a server asks for is kept where it is longer, up to `max_retry_after_ms`.

    Nothing is tried again once the attempts have taken `max_trying_ms` together, the waits between them not counted.
    """

    max_retries: int = 3
    initial_delay_ms: int = 1000
    max_delay_ms: int = 30_000
    backoff_multiplier: float = 2.0
    jitter_factor: float = 0.1
    max_retry_after_ms: int = 120_000
    max_trying_ms: int = 30_000

    def delay_seconds(self, retry: int, random: Callable[[], float]) -> float:
        """The wait before the `retry`-th further attempt (from 1); `random` gives numbers in 0..1."""
        steps = min(retry - 1, _MOST_STEPS)
        delay = min(self.initial_delay_ms * self.backoff_multiplier**steps, self.max_delay_ms)
        varied = delay * (1 + self.jitter_factor * (2 * random() - 1))
        return min(varied, self.max_delay_ms) / 1000

    def wait_seconds(self, retry: int, error: ToolcribError, random: Callable[[], float]) -> float | None:
        """How long to wait after `error`, or None where it is not to be tried again."""
        asked = error.retry_after_seconds or 0.0
        if retry > self.max_retries or not error.retryable or asked * 1000 > self.max_retry_after_ms:
            return None
        return max(self.delay_seconds(retry, random), asked)


async def retrying(
    work: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    *,
    sleep: Sleep,
    random: Callable[[], float],
    seconds_spent: Callable[[], float] = lambda: 0.0,
) -> T:
    """What `work` gives; a failure that may pass is followed by another attempt, as the policy says.

    `seconds_spent` tells how long the attempts have taken so far.
    """
    retry = 0
    while True:
        try:
            return await work()
        except ToolcribError as error:
            retry += 1
            wait = policy.wait_seconds(retry, error, random)
            if wait is None or seconds_spent() * 1000 >= policy.max_trying_ms:
                raise
            log.info("trying again in %.1f s (%d of %d): %s", wait, retry, policy.max_retries, error.message)
        await sleep(wait)
