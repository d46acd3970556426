from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes import spec
from toolcrib.catalog.freshness import SHORTEST_TTL_SECONDS, Freshness
from toolcrib.catalog.store import ServerRecord
from toolcrib.model.server import ServerSpec, StdioLaunch

DAY = 24 * 3600.0
READ_AT = 1_000_000.0
ENTRY = spec("files")


def record(entry: ServerSpec = ENTRY, ttl_seconds: float | None = None) -> ServerRecord:
    return ServerRecord("files", entry.launch_key, None, READ_AT, ttl_seconds)


def test_a_server_never_met_is_due() -> None:
    assert Freshness().is_due(ENTRY, None, READ_AT)


def test_a_server_that_was_met_but_never_read_is_due_and_not_old() -> None:
    failed = replace(record(), read_at=None, error="no such command")

    assert Freshness().is_due(ENTRY, failed, READ_AT)
    assert not Freshness().is_old(failed, READ_AT)


def test_a_server_launched_differently_is_due_at_once() -> None:
    moved = spec("files", launch=StdioLaunch("another"))

    assert Freshness().is_due(moved, record(), READ_AT)


@pytest.mark.parametrize("change", [{"description": "New words"}, {"timeout_seconds": 5.0}, {"deny_tools": ("x",)}])
def test_what_does_not_change_the_launch_makes_nothing_due(change: dict[str, object]) -> None:
    assert not Freshness().is_due(replace(ENTRY, **change), record(), READ_AT + 1)


@pytest.mark.parametrize(
    ("ttl_seconds", "age", "is_due"),
    [
        (None, DAY, False),
        (None, DAY + 1, True),
        (3600.0, 3600.0, False),
        (3600.0, 3601.0, True),
        (0.0, SHORTEST_TTL_SECONDS, False),
        (0.0, SHORTEST_TTL_SECONDS + 1, True),
        (7 * DAY, DAY + 1, True),
    ],
)
def test_a_servers_own_word_counts_above_a_floor_and_below_our_limit(
    ttl_seconds: float | None, age: float, is_due: bool
) -> None:
    assert Freshness(DAY).is_due(ENTRY, record(ttl_seconds=ttl_seconds), READ_AT + age) is is_due


def test_with_no_time_to_live_everything_is_old_a_moment_later() -> None:
    assert Freshness(0.0).is_due(ENTRY, record(), READ_AT + 0.001)


def test_a_reading_from_the_future_is_not_trusted() -> None:
    assert Freshness().is_due(ENTRY, record(), READ_AT - 3600)


def test_each_further_failure_doubles_the_wait_up_to_the_longest() -> None:
    failed = [replace(record(), error="no", error_at=READ_AT, failures=count) for count in (1, 2, 3, 4, 5, 6, 10_000)]

    waits = [Freshness(longest_retry_seconds=600).seconds_to_retry(one, READ_AT) for one in failed]

    assert waits == [30, 60, 120, 240, 480, 600, 600]


@pytest.mark.parametrize(("passed", "left"), [(0, 60), (20, 40), (60, 0), (1e9, 0), (-1e9, 60)])
def test_a_broken_server_is_left_alone_for_what_is_left_of_the_wait(passed: float, left: float) -> None:
    failed = replace(record(), error="no", error_at=READ_AT, failures=2)

    assert Freshness().seconds_to_retry(failed, READ_AT + passed) == left


def test_a_reading_that_somebody_expired_is_due_however_young_it_is() -> None:
    assert Freshness().is_due(ENTRY, replace(record(), expired=True), READ_AT)
