from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.errors import (
    AuthenticationFailed,
    CallTimeout,
    NeedsConfiguration,
    RateLimited,
    ServerConnectionError,
    SessionInitFailed,
    ToolcribError,
    ToolsListFailed,
)
from toolcrib.limits.retry import RetryPolicy, retrying

MIDDLE = 0.5  # no jitter up or down


class Flaky:
    """Work that fails with the errors given, then succeeds; remembers the waits between."""

    def __init__(self, *errors: ToolcribError) -> None:
        self.errors = list(errors)
        self.attempts = 0
        self.waits: list[float] = []

    async def work(self) -> str:
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def run(self, policy: RetryPolicy | None = None, chance: float = MIDDLE) -> str:
        return await retrying(self.work, policy or RetryPolicy(), sleep=self.sleep, random=lambda: chance)


def cut() -> ServerConnectionError:
    return ServerConnectionError("the connection broke", server="a", retryable=True)


def test_the_defaults_are_those_that_were_promised() -> None:
    policy = RetryPolicy()

    assert (policy.max_retries, policy.initial_delay_ms, policy.max_delay_ms) == (3, 1000, 30_000)
    assert (policy.backoff_multiplier, policy.jitter_factor) == (2.0, 0.1)


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("429"),
        ServerConnectionError("503", server="a", retryable=True, status=503),
        CallTimeout("no answer", server="a"),
        cut(),
    ],
    ids=["429", "503", "timeout", "reset"],
)
async def test_what_may_pass_is_tried_again(error: ToolcribError) -> None:
    flaky = Flaky(error)

    assert await flaky.run() == "done"
    assert flaky.waits == [1.0]


@pytest.mark.parametrize(
    "error",
    [
        AuthenticationFailed("401", server="a"),
        ServerConnectionError("refused", server="a"),
        ServerConnectionError("500 and connection reset and 503 in words", server="a", status=500),
        NeedsConfiguration("needs TOKEN", server="a"),
        SessionInitFailed("no", server="a"),
        ToolsListFailed("no", server="a", rpc_code=-32602),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_will_not_pass_is_not_tried_again(error: ToolcribError) -> None:
    flaky = Flaky(error)

    with pytest.raises(type(error)):
        await flaky.run()
    assert (flaky.attempts, flaky.waits) == (1, [])


async def test_the_waits_grow_and_the_last_error_is_told() -> None:
    flaky = Flaky(cut(), cut(), cut(), RateLimited("the last", retry_after_seconds=7))

    with pytest.raises(RateLimited, match="the last") as told:
        await flaky.run()
    assert flaky.waits == [1.0, 2.0, 4.0]
    assert flaky.attempts == 4
    assert told.value.retry_after_seconds == 7


async def test_without_retries_there_is_one_attempt() -> None:
    flaky = Flaky(cut())

    with pytest.raises(ServerConnectionError):
        await flaky.run(RetryPolicy(max_retries=0))
    assert flaky.attempts == 1


@pytest.mark.parametrize(("spent", "attempts"), [(0.0, 2), (29.9, 2), (30.0, 1), (60.0, 1)])
async def test_attempts_that_took_too_long_are_not_followed_by_another_one(spent: float, attempts: int) -> None:
    flaky = Flaky(cut())

    with nullcontext() if attempts > 1 else pytest.raises(ServerConnectionError):
        await retrying(flaky.work, RetryPolicy(), sleep=flaky.sleep, random=lambda: MIDDLE, seconds_spent=lambda: spent)

    assert flaky.attempts == attempts


async def test_a_longer_wait_that_the_server_asks_for_is_kept_and_a_shorter_one_is_not() -> None:
    asked = ServerConnectionError("503", server="a", retryable=True, retryAfterSeconds=45.0)
    flaky = Flaky(RateLimited("429", retry_after_seconds=10), asked, RateLimited("429", retry_after_seconds=0.1))

    await flaky.run()
    assert flaky.waits == [10, 45, 4.0]


async def test_a_server_that_asks_for_an_hour_is_left_alone_and_the_wait_is_told() -> None:
    flaky = Flaky(RateLimited("come back later", retry_after_seconds=3600))

    with pytest.raises(RateLimited) as told:
        await flaky.run()
    assert told.value.retry_after_seconds == 3600
    assert flaky.waits == []


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1)])
def test_a_wait_is_varied_by_a_tenth_up_or_down(chance: float, wait: float) -> None:
    assert RetryPolicy().delay_seconds(1, lambda: chance) == pytest.approx(wait)


@given(
    retry=st.integers(1, 10_000),
    chance=st.floats(0, 1),
    multiplier=st.floats(1, 100),
    jitter=st.floats(0, 1),
    most=st.integers(1, 100_000),
)
def test_no_wait_is_longer_than_the_longest_or_less_than_nothing(
    retry: int, chance: float, multiplier: float, jitter: float, most: int
) -> None:
    policy = RetryPolicy(max_delay_ms=most, backoff_multiplier=multiplier, jitter_factor=jitter)

    assert 0 <= policy.delay_seconds(retry, lambda: chance) <= most / 1000
