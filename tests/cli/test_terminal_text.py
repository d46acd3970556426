"""Cleaning, measuring and arranging text."""

from __future__ import annotations

import io
import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Clock
from toolcrib.cli.progress import Progress
from toolcrib.cli.table import print_table
from toolcrib.cli.terminal import Terminal, home_as_tilde, shorten, width_of, wrap
from toolcrib.model.clean_text import clean, clean_json, clean_lines

ODD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x9b\x07\r\n\t\x7f\u202e\u2066\u200b\u200d\u200c\ufeff\u00ad\ufe0f[];mJ文é\U000e0041"),
        st.characters(categories=["Cs", "Cf", "Cc"]),
    ),
    max_size=40,
)


@given(ODD)
def test_cleaned_text_holds_nothing_a_terminal_obeys_or_hides(text: str) -> None:
    for cleaned in (clean(text), clean_lines(text)):
        for character in cleaned.replace("\n", ""):
            kind = unicodedata.category(character)
            assert kind not in {"Cc", "Cs", "Zl", "Zp"}
            assert kind != "Cf" or character in "\u200c\u200d" or ord(character) in range(0x600, 0x8E3)
    assert "\n" not in clean(text)


@given(ODD)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert clean_lines(clean_lines(text)) == clean_lines(text)


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=40))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    hidden = "\u115f\u1160\u3164\uffa0"
    assert clean(text) == "".join("\ufffd" if character in hidden else character for character in text)


@given(st.recursive(ODD, lambda inner: st.lists(inner) | st.dictionaries(ODD, inner), max_leaves=8))
def test_cleaned_json_means_the_same_and_is_harmless(value: object) -> None:
    text = clean_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    text.encode("utf-8")
    assert not {"\x1b", "\x9b", "\x7f", "\u202e", "\u200b"} & set(text)


def test_the_payload_of_a_terminal_command_is_shown_not_hidden() -> None:
    assert clean("a\x1b]52;c;aGFjaw==\x07b") == "a\ufffd]52;c;aGFjaw==\ufffdb"
    assert clean("\x1b[31mred\x1b[0m") == "red"
    assert clean("one\r\ntwo") == "one\ufffd two"
    assert clean_lines("one\r\ntwo\rthree") == "one\ntwo\ufffdthree"


def test_joiners_stay_where_scripts_and_emoji_need_them() -> None:
    family, persian = "👨\u200d👩\u200d👧", "می\u200cرود"
    assert clean(family) == family
    assert clean(persian) == persian
    assert clean("⚠\ufe0f") == "⚠\ufe0f"
    assert clean("pay\u200dpal") == "pay\ufffdpal"


@given(st.text(st.characters(categories=["L", "N", "P", "Zs", "Mn", "So"]), max_size=40), st.integers(1, 60))
def test_shortened_text_fits(text: str, columns: int) -> None:
    assert width_of(shorten(text, columns)) <= columns


def test_wide_and_combining_characters_are_measured() -> None:
    assert width_of("文件") == 4
    assert width_of("e\u0301") == 1
    assert shorten("文件文件", 5) == "文件…"


@given(st.lists(st.text("ab文", min_size=1, max_size=8), min_size=1), st.integers(20, 60), st.integers(0, 4))
def test_wrapped_lines_fit_keep_their_indent_and_lose_no_word(words: list[str], columns: int, indent: int) -> None:
    lines = wrap(" " * indent + " ".join(words), columns)
    assert [word for line in lines for word in line.split()] == words
    assert all(line.startswith(" " * indent) and line[indent : indent + 1] != " " for line in lines)
    assert all(width_of(line) <= columns for line in lines)


def test_a_line_that_fits_stays_as_it_is() -> None:
    assert wrap("    a:  7", 20) == ["    a:  7"]


def _terminal(*, is_live: bool = False, colour: bool = False) -> tuple[io.StringIO, Terminal]:
    stream = io.StringIO()
    return stream, Terminal(stream, colour=colour, is_live=is_live)


def test_columns_line_up_with_wide_characters_and_colours() -> None:
    stream, terminal = _terminal(colour=True)
    print_table(terminal, ("NAME", "WHAT"), [("文件", "files"), ("a\x1b[2Jb", "odd")], ["green", None])
    lines = stream.getvalue().split("\n")
    assert lines[1] == "\x1b[32m文件\x1b[0m    files"
    assert lines[2] == "a\ufffd[2Jb  odd"


def test_progress_in_a_pipe_is_plain_lines_and_quiet_is_nothing() -> None:
    stream, terminal = _terminal()
    with Progress(terminal, "Reading", ["a", "b"]) as progress:
        progress.started("a")
        progress.done("a", "3 tools")
        progress.failed("b", "gone\nmore")
    assert stream.getvalue() == "Reading (2)…\n  ✓ a: 3 tools\n  ✗ b: gone\n"
    stream, terminal = _terminal(is_live=True)
    with Progress(terminal, "Reading", ["a"], is_quiet=True) as progress:
        progress.done("a")
    assert stream.getvalue() == ""


def test_progress_in_a_pipe_tells_of_what_takes_long_now_and_then() -> None:
    stream, terminal = _terminal()
    clock = Clock()
    with Progress(terminal, "Reading", ["a", "b"], monotonic=clock) as progress:
        progress.started("a")
        progress.done("b", "3 tools")
        for _ in range(45):
            clock.advance(1)
            progress.tick()
        progress.again("a", "no answer")
        progress.failed("a", "gone")
    assert stream.getvalue().splitlines() == [
        "Reading (2)…",
        "  ✓ b: 3 tools",
        "  … a: 10 s",
        "  … a: 20 s",
        "  … a: 40 s",
        "  … a: trying again: no answer, 45 s",
        "  ✗ a: gone",
    ]


def test_a_path_at_home_begins_with_a_tilde() -> None:
    env = {"HOME": "/home/ada"}
    assert home_as_tilde("/home/ada/x.json", env) == "~/x.json"
    assert home_as_tilde("/home/adam/x.json", env) == "/home/adam/x.json"
