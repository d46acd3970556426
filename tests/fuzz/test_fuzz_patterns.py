"""Patterns, templates and addresses of anybody: read or refused, and never for long."""

from __future__ import annotations

import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.fuzzing import ODD_TEXT, damaged, fuzzed
from tests.processor_time import within
from toolcrib.foreign_regex import BadExpression, compile_foreign
from toolcrib.model.address_spellings import spellings
from toolcrib.model.uri_template import OddTemplate, expanded, matches, variables
from toolcrib.rules.glob import PatternError
from toolcrib.rules.pattern import Pattern, PatternUndecided

PATTERNS = [
    b"github:*",
    b"!*delete*",
    b"{a,b{c,d}}[!x-z]?",
    b"/^(a+)+$/i",
    b"/(?:x|y){3,}[^:]+/s",
    b"prompt:*",
    b"resource:file:///*",
]
PIECES = (
    b"(a+)+$",
    b"((a*)*)*",
    b"{1000}",
    b"(?x)",
    b"[" * 40,
    b"{" * 40,
    b"*" * 40,
    b"\\",
    b"(?>",
    b"(?<n>",
    b"\\1",
    b"(?R)",
    b"\xff",
    b"{,}",
)
TEMPLATES = [b"file:///{path}", b"db://{+table}{?limit,offset}", b"x{/a,b}{#frag}{.ext}{;q}{&r}", b"note://a"]
NAMES = st.one_of(ODD_TEXT, st.text("a", max_size=500), st.text("ab:/-_", max_size=60))


@fuzzed(300)
@given(damaged(PATTERNS, PIECES), NAMES, NAMES, st.booleans(), st.booleans())
def test_fuzz_a_pattern_decides_or_says_that_it_can_not(
    raw: bytes, server: str, tool: str, is_item: bool, blocks: bool
) -> None:
    with within():
        try:
            pattern = Pattern.parse(raw.decode("utf-8", "replace"))
            assert isinstance(pattern.matches(server, tool, is_item=is_item, blocks=blocks), bool)
        except (PatternError, PatternUndecided) as refusal:
            assert str(refusal)


@fuzzed(300)
@given(st.text("abc*?", max_size=12), st.text("abcABC", max_size=12))
def test_fuzz_plain_globs_mean_what_they_mean_everywhere(glob: str, name: str) -> None:
    if glob and not glob.startswith("/"):
        assert Pattern.parse(glob).matches("s", name) == fnmatch.fnmatchcase(name.lower(), glob.lower())


@fuzzed(200)
@given(damaged(PATTERNS, PIECES), NAMES)
def test_fuzz_an_expression_of_others_ends_in_time(raw: bytes, text: str) -> None:
    with within():
        try:
            compile_foreign(raw.decode("utf-8", "replace")).search(text, timeout=0.05)
        except (BadExpression, TimeoutError) as refusal:
            assert isinstance(refusal, Exception)


@fuzzed(300)
@given(
    damaged(TEMPLATES, (b"{" * 30, b"{a,b}" * 40, b"%", b"{+x}" * 12)),
    st.dictionaries(st.sampled_from("path table limit a b q".split()), ODD_TEXT),
)
def test_fuzz_what_a_template_gives_is_one_of_its_addresses(raw: bytes, values: dict[str, str]) -> None:
    template = raw.decode("utf-8", "replace")
    with within():
        try:
            known = variables(template)
            uri = expanded(template, values)
        except OddTemplate:
            assert isinstance(matches(template, "file:///x"), bool)
            return
        except UnicodeEncodeError:  # a half character, which no address can hold
            return
        assert isinstance(known, dict)
        assert matches(template, uri)


@fuzzed(200)
@given(ODD_TEXT.map(lambda text: f"file:///work/{text}") | ODD_TEXT | st.text("./%2eEfF\\", max_size=60))
def test_fuzz_an_address_has_a_few_spellings_and_the_first_is_its_own(uri: str) -> None:
    with within():
        ways = spellings(uri)
    assert ways[0] == uri
    assert len(ways) <= 12
