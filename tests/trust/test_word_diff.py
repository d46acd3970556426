from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import within
from toolcrib.trust.word_diff import Part, changed_fields, word_diff

texts = st.text(st.sampled_from("ab .,\n"), max_size=60)
# Long enough that some of them are not compared to the end.
long_texts = st.builds(lambda text, times: text * times, texts, st.integers(1, 40))


@given(texts | long_texts, texts | long_texts)
def test_the_diff_shows_every_changed_word_and_no_other(before: str, now: str) -> None:
    parts = list(word_diff(before, now))

    assert "".join(part.text for part in parts if part.operation != "added") == before
    assert "".join(part.text for part in parts if part.operation != "removed") == now
    if before == now:
        assert all(part.operation == "same" for part in parts)


def test_fields_that_stayed_are_left_out_and_others_are_named() -> None:
    before: dict[str, Any] = {
        "name": "copy",
        "description": "Copies a file.",
        "inputSchema": {"properties": {"a": {"type": "string"}, "b": {"enum": ["x"]}}},
    }
    now: dict[str, Any] = {
        "name": "copy",
        "description": "Copies every file.",
        "inputSchema": {"properties": {"a": {"type": "string"}, "c": {"enum": ["x", "y"]}}},
    }

    changes = {change.where: change.parts for change in changed_fields(before, now)}

    assert list(changes) == ["description", "inputSchema.properties.c.enum", "inputSchema.properties.b.enum"]
    assert changes["description"] == (
        Part("same", "Copies "),
        Part("removed", "a"),
        Part("added", "every"),
        Part("same", " file."),
    )
    assert changes["inputSchema.properties.c.enum"] == (Part("added", '["x", "y"]'),)
    assert changes["inputSchema.properties.b.enum"] == (Part("removed", '["x"]'),)


def test_arguments_of_prompts_are_compared_by_their_names() -> None:
    before = {"arguments": [{"name": "b", "description": "Second."}]}
    now = {"arguments": [{"name": "a", "description": "First."}, {"name": "b", "description": "Second."}]}

    assert {change.where for change in changed_fields(before, now)} == {"arguments[a].name", "arguments[a].description"}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"arguments": [{"name": "a"}]}, {"arguments": [{"name": "a", "description": "EVIL"}, {"name": "a"}]}),
        (
            {"arguments": [{"name": "a", "description": "Fine."}]},
            {"arguments": [{"name": "a", "description": "EVIL"}, {"name": "a", "description": "Fine."}]},
        ),
        ({"a": {"b": "Fine."}}, {"a": {"b": "EVIL"}, "a.b": "Fine."}),
        ({"a": [{"x": "Fine."}, {}]}, {"a": [{"x": "EVIL"}, {"name": "0", "x": "Fine."}]}),
    ],
)
def test_nothing_that_changed_hides_behind_another_of_the_same_name(
    before: dict[str, Any], now: dict[str, Any]
) -> None:
    came = [part.text for change in changed_fields(before, now) for part in change.parts if part.operation == "added"]

    assert "EVIL" in came


@given(st.recursive(texts | st.integers() | st.none() | st.booleans(), st.lists))
def test_a_value_of_another_kind_is_a_change(value: Any) -> None:
    written = json.dumps(value, ensure_ascii=False)
    (change,) = changed_fields({"default": value}, {"default": written})

    assert change.where.startswith("default")
    assert {part.operation for part in change.parts} >= {"added"}


def test_a_long_text_that_is_another_one_is_shown_in_whole() -> None:
    before, now = "a " * 9_000 + "end", "b " * 9_000 + "end"

    assert list(word_diff(before, now)) == [
        Part("removed", "a " * 8_999 + "a"),
        Part("added", "b " * 8_999 + "b"),
        Part("same", " end"),
    ]


def test_single_words_are_found_in_a_long_text() -> None:
    words = [f"word{number % 700}" for number in range(9_000)]
    changed = [*words]
    changed[10], changed[4_000] = "first", "second"

    parts = list(word_diff(" ".join(words), " ".join(changed)))

    assert [part.text for part in parts if part.operation != "same"] == ["word10", "first", "word500", "second"]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("a b " * 1_200, "b b a a " * 600),
        ("a b " * 16_000, "b b a a " * 8_000),
        ("a " * 30_000, "b " + "a " * 30_000 + "b"),
        ("a b c d " * 8_000, "d c b a " * 8_000),
    ],
    ids=["2,400 words", "64 KiB", "one word", "turned round"],
)
def test_no_text_takes_long_to_compare_and_all_of_it_is_shown(before: str, now: str) -> None:
    with within(2.0):
        parts = list(word_diff(before, now))

    assert "".join(part.text for part in parts if part.operation != "added") == before
    assert "".join(part.text for part in parts if part.operation != "removed") == now


def test_many_fields_take_no_longer_than_one() -> None:
    before = {f"field {number}": "a b " * 120 for number in range(140)}
    now = dict.fromkeys(before, "b b a a " * 60)
    with within(3.0):
        changed_fields(before, now)
