"""Patterns: what each form matches, and how bad ones are refused."""

from __future__ import annotations

import logging
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.rules.glob import PatternError
from toolcrib.rules.pattern import MAX_TIMEOUTS, Pattern, PatternUndecided

SLOW = "/(a|aa)+$/"
SLOW_NAME = "a" * 200 + "!"


def fits(pattern: str, tool: str, server: str = "github") -> bool:
    return Pattern.parse(pattern).matches(server, tool)


@pytest.mark.parametrize(
    ("pattern", "tool", "expected"),
    [
        ("*github*", "my_github_tool", True),
        ("*github*", "create_issue", False),
        ("github_*", "github_search", True),
        ("github_*", "my_github_search", False),
        ("*_issue", "create_issue", True),
        ("*_issue", "issue_create", False),
        ("*", "anything", True),
        ("*", "", True),
        ("read_file", "read_file", True),
        ("read_file", "read_file_2", False),
        ("READ_*", "read_file", True),
        ("read_*", "READ_FILE", True),
        ("get?", "gets", True),
        ("get?", "get", False),
        ("[abc]x", "bx", True),
        ("[abc]x", "dx", False),
        ("v[0-9]", "v7", True),
        ("v[0-9]", "vx", False),
        ("[A-C]x", "bx", True),
        ("[!a]x", "bx", True),
        ("[!a]x", "ax", False),
        ("[!a]x", "Ax", False),
        ("[^a]x", "bx", True),
        ("[]]", "]", True),
        ("[a-]", "-", True),
        ("{create,update}_issue", "update_issue", True),
        ("{create,update}_issue", "delete_issue", False),
        ("{a,b{c,d}}_x", "bd_x", True),
        ("{a,b{c,d}}_x", "b_x", False),
        ("x{,_y}", "x", True),
        ("x{,_y}", "x_y", True),
        ("[{,}]", ",", True),
        ("a,b", "a,b", True),
        ("a.b", "axb", False),
        ("fs/read", "fs/read", True),
        ("line*", "line\nbreak", True),
    ],
)
def test_a_glob_covers_the_whole_name_and_ignores_case(pattern: str, tool: str, expected: bool) -> None:
    assert fits(pattern, tool) is expected


@pytest.mark.parametrize(
    ("pattern", "tool", "expected"),
    [
        ("/github.*issue/i", "GitHub_create_Issue", True),
        ("/github.*issue/", "GitHub_create_Issue", False),
        ("/^fs_(read|write)$/", "fs_read", True),
        ("/^fs_(read|write)$/", "fs_reader", False),
        ("/issue/", "create_issue_now", True),
        ("/^create_/", "create_issue", True),
        ("/^create_/", "recreate_issue", False),
        (r"/\b(create|update)\b/", "create-issue", True),
        ("/a.c/s", "a\nc", True),
        ("/a.c/", "a\nc", False),
        ("/^b$/m", "a\nb", True),
        ("/x/gy", "axb", True),
        ("/x/u", "axb", True),
        (r"/a\/b/", "a/b", True),
        ("/a/b/i", "A/B", True),
        ("/(?<verb>get)_/", "get_x", True),
    ],
)
def test_a_regex_is_searched_anywhere_and_minds_case_without_the_i_flag(
    pattern: str, tool: str, expected: bool
) -> None:
    assert fits(pattern, tool) is expected


def test_flags_after_the_last_slash_still_make_a_regex() -> None:
    assert fits("/^CREATE_/i", "create_issue")
    assert not fits("/^CREATE_/i", "/^create_/i")


def test_a_word_boundary_keeps_its_standard_meaning_so_an_underscore_is_no_boundary() -> None:
    assert not fits(r"/\b(read|list|get)\b/i", "read_file")
    assert fits(r"/\b(read|list|get)\b/i", "Read-file")
    assert fits(r"/\b(read|list|get)\b/i", "list")


def test_a_slash_without_a_second_one_is_a_glob() -> None:
    assert fits("/etc*", "/etc_read")


def test_a_glob_with_a_colon_is_tried_on_server_and_tool() -> None:
    assert fits("github:*", "create_issue")
    assert fits("git*:create_*", "create_issue")
    assert not fits("gitlab:*", "create_issue")


def test_a_regex_is_tried_on_the_tool_and_with_a_colon_also_on_server_and_tool() -> None:
    assert fits("/^github:create/", "create_issue")
    assert fits("/^(github:)?create/", "create_issue", server="other")
    assert not fits("/^github/", "create_issue")


def test_a_group_colon_does_not_make_a_regex_read_the_server() -> None:
    assert not fits("/(?:delete|drop)/", "list_rows", server="drop-box")
    assert fits("/(?:delete|drop)/", "drop_table")


def test_a_tool_cannot_borrow_another_servers_name() -> None:
    assert not fits("github:*", "github:create_issue", server="evil")
    assert not fits("/^github:/", "github:create_issue", server="evil")


def test_an_exclamation_mark_negates_a_glob_and_a_regex() -> None:
    assert Pattern.parse("!*delete*").negated
    assert Pattern.parse("!/delete/i").negated
    assert not Pattern.parse("*delete*").negated
    assert fits("!/delete/i", "DELETE_x"), "matches() is about the pattern itself"


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("/x/z", "unknown flag 'z'"),
        ("/usr/bin", "unknown flag 'b'"),
        ("/(/", "not a regular expression"),
        ("/" + "(" * 450 + ")" * 450 + "/", "not a regular expression"),
        ("//", "empty regular expression"),
        ("//i", "empty regular expression"),
        ("/(?:(?:a{1000}){1000}){1000}/", "repeat counts"),
        ("", "expected a name pattern"),
        ("!", "after one `!`"),
        ("!!x", "after one `!`"),
        ("a[bc", "without `]`"),
        ("a{b,c", "without `}`"),
        ("a}b", "without `{`"),
        ("[z-a]", "backwards"),
        ("{a,b}" * 7, "more than 64"),
        ("{" * 9 + "a" + "}" * 9, "nested deeper"),
        ("a" * 1_025, "longer than 1024"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_reason(pattern: str, part: str) -> None:
    with pytest.raises(PatternError) as caught:
        Pattern.parse(pattern)
    assert part in str(caught.value)


def test_a_name_beyond_the_cap_is_left_undecided() -> None:
    assert fits("*", "a" * 1_000)
    with pytest.raises(PatternUndecided):
        fits("*", "a" * 1_025)


def test_a_catastrophic_regex_is_stopped_and_after_a_few_times_switched_off(caplog: pytest.LogCaptureFixture) -> None:
    pattern = Pattern.parse(SLOW)
    assert pattern.matches("s", "aaa")
    with caplog.at_level(logging.WARNING):
        for _ in range(MAX_TIMEOUTS):
            assert not pattern.is_off
            with pytest.raises(PatternUndecided):
                pattern.matches("s", SLOW_NAME)
    assert pattern.is_off
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    with pytest.raises(PatternUndecided):
        pattern.matches("s", "aaa")


def test_the_textbook_catastrophe_is_answered_or_stopped() -> None:
    with suppress(PatternUndecided):
        assert not fits("/(a+)+$/", "a" * 900 + "!")


def test_a_glob_full_of_stars_is_decided() -> None:
    assert not fits("*" + "a*" * 400 + "b", "a" * 1_000)
    assert fits("*" + "a*" * 400 + "b", "a" * 900 + "b")


names = st.text(alphabet="abAB_-.é]", max_size=8)
literals = st.sampled_from(["a", "b", "B", "_", "-", ".", "é"])
classes = st.sampled_from(["[ab]", "[!a]", "[a-b]", "[!a-b]", "[_.]", "[]a]"])
flat_globs = st.lists(st.one_of(literals, st.sampled_from(["*", "?"]), classes), min_size=1, max_size=6).map("".join)
braces = st.lists(st.one_of(flat_globs, st.just("")), min_size=1, max_size=3).map(lambda p: "{" + ",".join(p) + "}")
nested = st.tuples(flat_globs, braces).map(lambda pair: "{" + ",".join(pair) + "}")
globs = st.lists(st.one_of(flat_globs, braces, nested), min_size=1, max_size=2).map("".join)


def expand(glob: str) -> list[str]:
    """The oracle's brace expansion: innermost pair first, by text replacement."""
    close = glob.find("}")  # the generated classes hold no braces
    if close < 0:
        return [glob]
    start = max(at for at in range(close) if glob[at] == "{")
    return [
        flat for part in glob[start + 1 : close].split(",") for flat in expand(glob[:start] + part + glob[close + 1 :])
    ]


def slow_match(glob: str, name: str) -> bool:
    """The oracle: try every split, one character at a time."""
    if not glob:
        return not name
    if glob[0] == "*":
        return any(slow_match(glob[1:], name[at:]) for at in range(len(name) + 1))
    if not name:
        return False
    if glob[0] == "[":
        end = glob.index("]", 3 if glob[1] == "!" else 2)
        return _in_class(glob[1:end], name[0]) and slow_match(glob[end + 1 :], name[1:])
    return glob[0] in ("?", name[0]) and slow_match(glob[1:], name[1:])


def _in_class(body: str, char: str) -> bool:
    negated, body = body.startswith("!"), body.removeprefix("!")
    if body == "a-b":
        body = "ab"
    return (char in body) is not negated


@given(globs, names)
def test_globs_agree_with_a_slow_oracle(glob: str, name: str) -> None:
    expected = any(slow_match(flat.lower(), name.lower()) for flat in expand(glob))
    assert fits(glob, name) is expected


def test_the_oracle_and_the_matcher_agree_on_every_short_case() -> None:
    for glob in map("".join, product("a*?", repeat=4)):
        for name in map("".join, product("ab", repeat=4)):
            assert fits(glob, name) is slow_match(glob, name)


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_either_a_pattern_or_a_pattern_error(text: str, name: str) -> None:
    try:
        pattern = Pattern.parse(text)
    except PatternError:
        return
    assert pattern.matches("server", name) in (True, False)
