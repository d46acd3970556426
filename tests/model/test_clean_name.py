"""Names and definitions as callers meet them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.model.clean_name import MOST_NAME_CHARACTERS, clean_address, clean_name
from toolcrib.model.clean_text import clean, cleaned, escape_unsafe
from toolcrib.model.tool import Tool
from toolcrib.storage.json_text import to_json
from toolcrib.storage.json_tool import read_tool

ODD = st.text(
    st.one_of(st.characters(), st.sampled_from("\x1b\r\n\t\x7f\x85\u202e\u2028\u200b\u200d\ufe0f\\u文é\U000e0041ab")),
    max_size=12,
)
VALUES = st.recursive(
    ODD | st.integers() | st.none(), lambda one: st.lists(one) | st.dictionaries(ODD, one), max_leaves=6
)


@pytest.mark.parametrize(
    "name", ["get_weather", "get weather", "查询天气", "résumé", "👩\u200d💻", "a/b.c-d:e", "x" * 128]
)
def test_a_name_of_which_all_shows_stays_as_it_is(name: str) -> None:
    assert clean_name(name) == name


@given(ODD, ODD)
def test_names_are_harmless_short_and_told_apart(one: str, other: str) -> None:
    shown = clean_name(one)
    assert shown == clean(shown) == clean_name(shown)
    assert 0 < len(shown) <= MOST_NAME_CHARACTERS
    assert (shown == clean_name(other)) == (one == other)


@given(ODD)
def test_an_address_is_harmless_and_means_the_same(text: str) -> None:
    shown = clean_address(f"note://{text}")
    assert shown == clean(shown)
    if "%" not in text and not any("\ud800" <= one <= "\udfff" for one in text):
        assert unquote(shown) == f"note://{text}"


@given(st.dictionaries(ODD, VALUES))
def test_a_definition_is_shown_alike_whether_it_was_just_read_or_comes_from_the_catalog(more: dict[str, Any]) -> None:
    text = to_json({**more, "name": "tool"})
    kept, fresh = read_tool("server", text, ""), Tool.from_mcp("server", json.loads(text))
    assert kept.shown == fresh.shown == cleaned(fresh.shown)
    assert kept.definition == fresh.definition == json.loads(text)


@given(VALUES)
def test_escaped_json_means_the_same(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert json.loads(escape_unsafe(text)) == value


def test_what_is_harmless_is_not_copied() -> None:
    definition = {"name": "a", "inputSchema": {"properties": {"b": {"enum": ["c\td", "e\nf", 1]}}}}
    assert Tool.from_mcp("server", definition).shown is definition


def test_two_names_that_look_alike_both_stay() -> None:
    assert cleaned({"a\u200b": 1, "a\u202e": 2}) == {"a\ufffd": 1, "a\ufffd\ufffd": 2}
