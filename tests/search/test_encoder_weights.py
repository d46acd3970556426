from __future__ import annotations

import hashlib

import pytest

from toolcrib.search.encoder import SHIPPED_WEIGHTS, Encoder

MOST_BYTES = 10_000_000
TOOLS = (
    "github create pull request: Open a new pull request | title, base, head",
    "github merge pull request: Merge an open pull request",
    "slack post message: Send a message to a channel | channel, text",
    "weather get forecast: Forecast for a city for the coming days | city, days",
    "postgres query: Run a read-only SQL query | sql",
    "filesystem read file: The content of a file | path",
    "stripe create refund: Give a customer money back | payment intent, amount",
    "calendar create event: Add an event to the calendar | start, end, title",
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load()


def test_the_shipped_weights_are_the_ones_that_were_measured() -> None:
    recorded = (SHIPPED_WEIGHTS.parent / "SHA256SUMS").read_text().split()[0]
    assert hashlib.sha256(SHIPPED_WEIGHTS.read_bytes()).hexdigest() == recorded
    assert recorded in (SHIPPED_WEIGHTS.parent / "README.md").read_text()


def test_the_shipped_weights_are_small_enough_for_the_wheel() -> None:
    assert SHIPPED_WEIGHTS.stat().st_size <= MOST_BYTES


NEEDED = {
    "will it rain in Lisbon tomorrow": 3,
    "tell the team that lunch is ready": 2,
    "how many customers signed up last week": 4,
    "the buyer wants his cash back": 6,
    "put my branch up for review": 0,
    "what does notes.txt say": 5,
    "block an hour on friday for planning": 7,
    "shedule a meetng": 7,
}


def test_requests_lie_closest_to_the_tools_they_need(encoder: Encoder) -> None:
    closeness = encoder.encode_queries([*NEEDED]) @ encoder.encode(TOOLS).T
    ranks = [int((row > row[place]).sum()) for row, place in zip(closeness, NEEDED.values(), strict=True)]

    # When this was measured, only "block an hour on friday" came second.
    assert sum(rank == 0 for rank in ranks) >= 7
    assert max(ranks) <= 1


def test_the_shipped_encoder_says_which_one_it_is(encoder: Encoder) -> None:
    assert encoder.dimensions == 384
    assert len(encoder.identity) == 16
