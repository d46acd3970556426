from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.built_in.read_result import DEFAULT_CHARACTERS, GREP_SECONDS, MOST_CHARACTERS, excerpt
from toolcrib.errors import InvalidArguments

DATA = {"items": [{"name": "first"}, {"name": "sec/ond~"}], "a/b": {"m~n": [True, None, 1.5]}, "": "empty key"}
TEXT = json.dumps(DATA)


def refusal(text: str, **wanted: Any) -> str:
    with pytest.raises(InvalidArguments) as caught:
        excerpt(text, wanted)
    return str(caught.value)


def test_a_short_text_comes_whole() -> None:
    assert excerpt("hello", {}) == "hello"


def test_a_long_text_says_where_to_go_on() -> None:
    part = excerpt("x" * 40_000, {})

    assert part.startswith("x" * DEFAULT_CHARACTERS)
    assert part.endswith("[characters 0 to 16000 of 40000; continue with offset 16000]")


def test_a_range_is_cut_out_by_characters() -> None:
    assert excerpt("añb✓c", {"offset": 1, "length": 3}).startswith("ñb✓\n[characters 1 to 4 of 5")


def test_no_more_than_the_most_is_given_at_once() -> None:
    assert len(excerpt("x" * 100_000, {"length": 90_000}).split("\n")[0]) == MOST_CHARACTERS


@pytest.mark.parametrize("offset", [5, 6, 10**30])
def test_an_offset_at_or_beyond_the_end_says_how_long_the_text_is(offset: int) -> None:
    assert excerpt("hello", {"offset": offset}) == f"[nothing at offset {offset}: the result has 5 characters]"


def test_an_empty_text_is_empty() -> None:
    assert excerpt("", {}) == ""


@given(text=st.text(max_size=300), length=st.integers(1, 50))
def test_reading_on_from_part_to_part_gives_the_whole_text(text: str, length: int) -> None:
    parts, offset = [], 0
    while offset < len(text):
        part = excerpt(text, {"offset": offset, "length": length})
        whole = offset + length >= len(text)
        parts.append(part if whole else part[:length])
        assert whole or part[length:].endswith(f"continue with offset {offset + length}]")
        offset += length

    assert "".join(parts) == text


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", json.dumps(DATA, separators=(",", ":"))),
        ("/items/0/name", "first"),
        ("/items/1/name", "sec/ond~"),
        ("/items/0", '{"name":"first"}'),
        ("/a~1b/m~0n/2", "1.5"),
        ("/a~1b/m~0n/1", "null"),
        ("/", "empty key"),
    ],
)
def test_a_pointer_gives_the_value_it_points_to(pointer: str, value: str) -> None:
    assert excerpt(TEXT, {"pointer": pointer}) == value


@pytest.mark.parametrize(
    "pointer",
    ["items", "items/0", "/nothing", "/items/2", "/items/-1", "/items/00", "/items/²", "/items/" + "9" * 5000, "//x"],
)
def test_a_pointer_to_nothing_is_refused_by_name(pointer: str) -> None:
    assert refusal(TEXT, pointer=pointer).startswith("pointer: ")


@pytest.mark.parametrize("text", ["plain words", '{"broken": ', "[" * 200_000])
def test_a_pointer_into_what_is_no_json_is_refused(text: str) -> None:
    assert "not JSON" in refusal(text, pointer="/a")


def test_grep_gives_matching_lines_with_their_numbers() -> None:
    assert excerpt("alpha\nbeta\nalphabet", {"grep": "^alpha"}) == "1: alpha\n3: alphabet"


LOGS = {
    "jobs": [
        {"name": "build", "log": 'start\r\nERROR: disk "full"\nthe naïve end', "code": 1},
        {"name": 'say "hi"', "log": "", "a/b": None},
    ]
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("^ERROR", '/jobs/0/log:2: ERROR: disk "full"'),
        ("naïve", "/jobs/0/log:3: the naïve end"),
        ("start$", "/jobs/0/log:1: start"),
        ('"name": "build"', '/jobs/0/name: "build"'),
        ('say "hi"', '/jobs/1/name: "say "hi""'),
        ("code", "/jobs/0/code: 1"),
        ("null", "/jobs/1/a~1b: null"),
        ("name", '/jobs/0/name: "build"\n/jobs/1/name: "say "hi""'),
        (r"\\n", "[no line matches]"),
    ],
)
def test_grep_works_on_the_lines_a_person_would_see_of_json(indent: int | None, pattern: str, lines: str) -> None:
    assert excerpt(json.dumps(LOGS, indent=indent), {"grep": pattern}) == lines


def test_what_grep_finds_in_json_can_be_read_by_the_pointer_it_gives() -> None:
    text = json.dumps(LOGS)
    place = excerpt(text, {"pointer": "/jobs", "grep": "build"}).partition(": ")[0]

    assert place == "/jobs/0/name"
    assert excerpt(text, {"pointer": place}) == "build"


@pytest.mark.parametrize(("text", "found"), [('"one\\ntwo"', "2: two"), ('["a","b\\ntwo"]', "/1:2: two")])
def test_a_text_that_was_written_as_a_json_string_is_searched_by_its_lines(text: str, found: str) -> None:
    assert excerpt(text, {"grep": "^two"}) == found


def test_json_nested_without_end_is_searched_as_the_text_it_is() -> None:
    assert excerpt("[" * 100_000 + "\nneedle", {"grep": "needle"}) == "2: needle"


def test_grep_without_a_match_says_so() -> None:
    assert excerpt("alpha", {"grep": "omega"}) == "[no line matches]"


def test_grep_works_on_what_a_pointer_gave() -> None:
    text = json.dumps({"log": "ok\nERROR here\nok"})

    assert excerpt(text, {"pointer": "/log", "grep": "error", "offset": 0}) == "[no line matches]"
    assert excerpt(text, {"pointer": "/log", "grep": "(?i)error"}) == "2: ERROR here"


@pytest.mark.parametrize("pattern", ["(", "[", "*", "a{1000}{1000}", "((a{1000}){1000}){1000}", "x" * 10_000])
def test_a_pattern_that_is_none_or_is_too_much_is_refused(pattern: str) -> None:
    assert refusal("text", grep=pattern).startswith("grep: ")


@pytest.mark.parametrize("lines", [1, 5000])
def test_a_catastrophic_pattern_is_given_up_in_time_however_many_lines_there_are(lines: int) -> None:
    text = "\n".join(["a" * 30 + "b" + "a" * 30] * lines)
    began = time.monotonic()

    assert "too long" in refusal(text, grep=r"(?:(a|aa)+)+$(?<!x)c")
    assert time.monotonic() - began < GREP_SECONDS + 5


@given(
    text=st.text(max_size=100),
    wanted=st.fixed_dictionaries(
        {},
        optional={
            "offset": st.integers(0, 200),
            "length": st.integers(1, 200),
            "pointer": st.text(max_size=10),
            "grep": st.text(max_size=6),
        },
    ),
)
def test_whatever_is_asked_for_the_answer_is_a_text_or_a_refusal(text: str, wanted: dict[str, Any]) -> None:
    with suppress(InvalidArguments):
        assert isinstance(excerpt(text, wanted), str)
