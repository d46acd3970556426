"""A request taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import within
from toolcrib.search.clauses import MOST_CLAUSES, clauses, want_tools_each


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "read the file notes.txt and send it to my team",
            ["read the file notes.txt", "send it to my team"],
        ),
        (
            "Look up the weather in Rome. Then book me a table; after that tell my wife about it!",
            ["Look up the weather in Rome", "Then book me a table", "after that tell my wife about it!"],
        ),
        ("list all open issues;\nclose  the oldest of them", ["list all open issues", "close the oldest of them"]),
        (
            "send an email to Ann, take a screenshot, refund the customer",
            ["send an email to Ann", "take a screenshot", "refund the customer"],
        ),
        ("sneakers in white and black, and tell me the price", ["sneakers in white and black", "tell me the price"]),
        (
            "load the sales table, plot a chart & unsubscribe me from it",
            ["load the sales table", "plot a chart", "unsubscribe me from it"],
        ),
        ("check the price of gold plus convert it to euros", ["check the price of gold", "convert it to euros"]),
    ],
)
def test_each_thing_asked_for_is_a_clause(text: str, parts: list[str]) -> None:
    assert clauses(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "send a mail",
            "cats and dogs",
            "read and write",
            "then. also. and then.",
            "a red, green and blue picture",
        ),
        *(
            "add or remove labels of an issue",
            "cast and plot of the film",
            "track it with Pack & Send Ltd",
            "2 plus 3 is",
        ),
    ],
)
def test_one_wish_has_no_clauses(text: str) -> None:
    assert clauses(text) == []


def test_a_verb_alone_is_a_wish_beside_longer_ones() -> None:
    text = "commit my changes, push, open a pull request"
    assert clauses(text) == ["commit my changes", "push", "open a pull request"]
    assert clauses("Hello there! Look up the weather. Thanks. Book me a table") == [
        "Look up the weather",
        "Book me a table",
    ]


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("take a screenshot of it and upload it to my drive", True),
        ("Please take a screenshot of it. Could you also upload it to my drive?", True),
        ("The boat trip was on Sunday. When did I talk with Ravi?", False),
        ("The boat trip was on Sunday. When did I talk with Ravi? Mail it to me", True),
        ("take a screenshot", False),
    ],
)
def test_two_clauses_want_a_tool_each_if_both_are_commands(text: str, each: bool) -> None:
    assert want_tools_each(clauses(text)) is each


def test_of_many_clauses_the_shortest_neighbours_stand_together() -> None:
    text = "go to sleep now. eat some more cake. write a very long letter. water all the garden flowers."
    assert clauses(text) == [
        "go to sleep now. eat some more cake",
        "write a very long letter",
        "water all the garden flowers",
    ]


def test_a_short_request_may_end_in_two_wishes_that_stand_together() -> None:
    text = "write a very long letter. water all the garden flowers. go to sleep now. eat some cake."
    assert clauses(text)[-1] == "go to sleep now. eat some cake"


def test_what_a_long_story_leads_up_to_stands_alone() -> None:
    story = "We had another long day at the office and nobody was happy with it. " * 20
    assert clauses(f"{story}Please book a table for two")[-1] == "Please book a table for two"


words = st.sampled_from(
    ["and", "then", "also", "after", "that", "send", "mail", ",", ".", ";", "!", "\n", "über", "as"]
)


@given(st.lists(st.one_of(words, st.text(max_size=5)), max_size=30).map(" ".join))
def test_clauses_are_at_most_three_separate_parts_of_the_text(text: str) -> None:
    found = clauses(text)
    assert len(found) != 1
    assert len(found) <= MOST_CLAUSES == 3
    wordy = " ".join(text.split())
    for word in " ".join(found).split():
        assert word.strip(" ,.;") in wordy
    assert not found or sum(len(clause.split()) >= 3 for clause in found) >= 2


def test_a_long_gap_is_read_at_once() -> None:
    with within(0.1):
        clauses("a" + " " * 4_000 + "b")
