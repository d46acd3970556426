"""Mistyped words are put right, and nothing else is touched."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolcrib.search.spelling import Spelling, other_words
from toolcrib.search.terms import stem

LETTERS = "abcdefghijklmnopqrstuvwxyz"
EVERYDAY = ("create", "weather", "forecast", "message", "delete", "branch", "please", "there", "city")
TOOLS = frozenset(map(stem, ("repository", "pipeline", "kubernetes", "calendar", "weather")))
KNOWN = (*EVERYDAY, "repository", "pipeline", "kubernetes", "calendar")
_NOT_WORDS = re.compile(r"[\W\d_]+")
SPELLING = Spelling(EVERYDAY, TOOLS.__contains__, TOOLS)


def edits(word: str) -> set[str]:
    """Every word that one edit makes of it."""
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    return {
        *(head + tail[1:] for head, tail in cuts if tail),
        *(head + letter + tail for head, tail in cuts for letter in LETTERS),
        *(head + letter + tail[1:] for head, tail in cuts if tail for letter in LETTERS),
        *(head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1),
    } - {word}


@given(st.sampled_from([word for word in EVERYDAY if len(word) >= 5]), st.data())
def test_one_edit_of_an_everyday_word_is_put_right(word: str, data: st.DataObject) -> None:
    mistyped = data.draw(st.sampled_from(sorted(edits(word))))
    assume(mistyped not in EVERYDAY and stem(mistyped) not in TOOLS)
    put_right = SPELLING.corrected(mistyped)
    assert put_right in edits(mistyped)
    assert put_right in EVERYDAY or put_right in TOOLS


words = st.text(LETTERS, min_size=1, max_size=12)


@given(st.sets(words, max_size=20), st.sets(words, max_size=20), words)
def test_a_word_becomes_a_known_one_an_edit_away_or_stays(everyday: set[str], tools: set[str], word: str) -> None:
    stems = frozenset(map(stem, tools))
    put_right = Spelling(sorted(everyday), stems.__contains__, sorted(stems)).corrected(word)
    assert put_right == word or (put_right in edits(word) and put_right in everyday | stems)
    if word in everyday or stem(word) in stems:
        assert put_right == word


@given(st.lists(st.sampled_from(KNOWN), min_size=1), st.sampled_from([str.lower, str.upper, str.title]))
def test_known_words_are_never_changed(said: list[str], written: Callable[[str], str]) -> None:
    text = "  ".join(map(written, said))
    assert SPELLING.corrected(text) == text


@given(st.text(max_size=40))
def test_any_text_keeps_all_but_its_words(text: str) -> None:
    put_right = SPELLING.corrected(text)
    assert _NOT_WORDS.findall(put_right) == _NOT_WORDS.findall(text)
    assert SPELLING.corrected(put_right) == put_right


@pytest.mark.parametrize(
    "text", ["погада", "天气预报", "wettervorhersagen", "crt 2", "12345", "", "cty", "x" * 40, "weather_forecast"]
)
def test_other_scripts_and_languages_short_words_and_numbers_stay(text: str) -> None:
    assert SPELLING.corrected(text) == text


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("wether", "weather"),
        ("Forcast", "forecast"),
        ("delte the brnach", "delete the branch"),
        ("mesage, plaese!", "message, please!"),
        ("wéathr", "weather"),
    ],
)
def test_a_mistyped_word_is_put_right_where_it_stands(mistyped: str, meant: str) -> None:
    assert SPELLING.corrected(mistyped) == meant


def test_a_word_of_the_tools_is_preferred_to_a_more_common_one() -> None:
    tools = frozenset({stem("board")})
    assert Spelling(["beard", "board"], tools.__contains__, tools).corrected("baard") == "board"
    assert Spelling(["beard", "board"], lambda _stem: False, []).corrected("baard") == "beard"


def test_where_no_word_is_known_none_is_changed() -> None:
    assert Spelling([], lambda _stem: False, []).corrected("anything gos") == "anything gos"


def test_the_words_of_the_trade_are_plain_and_each_there_once() -> None:
    trade = list(other_words())
    assert len(trade) == len(set(trade)) > 1_000
    assert all(word.isascii() and word.isalpha() and word.islower() for word in trade)
    assert "login" in trade


def test_two_swapped_letters_are_likelier_than_a_wrong_one() -> None:
    spelling = Spelling(["piece", "price"], {"piec", "price"}.__contains__, ())
    assert spelling.corrected("pirce") == "price"


def test_a_word_of_the_tools_is_likelier_than_two_swapped_letters() -> None:
    spelling = Spelling(["price", "piece"], {"piec"}.__contains__, ())
    assert spelling.corrected("pirce") == "piece"
