from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.model.uri_template import OddTemplate, expanded, matches, variables

# From the tables of RFC 6570, levels 1 to 3.
VALUES = {"var": "value", "hello": "Hello World!", "empty": "", "path": "/foo/bar", "x": "1024", "y": "768"}


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{+hello}", "Hello%20World!"),
        ("{+path}/here", "/foo/bar/here"),
        ("X{#hello}", "X#Hello%20World!"),
        ("map?{x,y}", "map?1024,768"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("db://{undefined}", "db://"),
        ("list{?undefined,x}", "list?x=1024"),
        ("plain", "plain"),
    ],
)
def test_a_template_is_filled_in_as_the_standard_says(template: str, uri: str) -> None:
    assert expanded(template, VALUES) == uri
    assert matches(template, uri)


def test_what_a_query_asks_for_need_not_be_given() -> None:
    assert variables("repo://{owner}/{name}/issues{?state,page}{&name}") == {
        "owner": True,
        "name": True,
        "state": False,
        "page": False,
    }


@pytest.mark.parametrize(
    "template", ["{path*}", "{var:3}", "{a b}", "{}", "{", "a}b", "{{a}}", "{=x}", "{a}" * 40, "x" * 3000]
)
def test_an_odd_template_is_refused(template: str) -> None:
    with pytest.raises(OddTemplate):
        expanded(template, {})
    with pytest.raises(OddTemplate):
        variables(template)


def test_an_odd_template_may_stand_for_all_that_begins_like_it() -> None:
    assert matches("file:///work/{path*}", "file:///work/a/b")
    assert not matches("file:///work/{path*}", "file:///etc/a")


@pytest.mark.parametrize("uri", ["db://tables/", "db://tables", "db://tables/a/b", "db://tables/a?b", "DB://tables/a"])
def test_a_simple_variable_stays_within_its_segment(uri: str) -> None:
    assert matches("db://tables/{table}", uri) is (uri == "db://tables/")


names = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
expressions = st.builds(
    lambda operator, own: f"{{{operator}{','.join(own)}}}",
    st.sampled_from(["", "+", "#", ".", "/", ";", "?", "&"]),
    st.lists(names, min_size=1, max_size=3, unique=True),
)
templates = st.lists(st.one_of(expressions, st.from_regex(r"[a-z:/.]{0,6}", fullmatch=True)), max_size=6).map("".join)


@given(templates, st.dictionaries(names, st.text(max_size=8)))
def test_what_a_template_gives_is_one_of_its_addresses(template: str, values: dict[str, str]) -> None:
    try:
        uri = expanded(template, {name: value.encode("utf-8", "replace").decode() for name, value in values.items()})
    except OddTemplate:
        return
    assert matches(template, uri)


@given(st.text(max_size=40), st.text(max_size=40))
def test_nothing_but_an_odd_template_is_ever_raised(template: str, uri: str) -> None:
    assert matches(template, uri) in (True, False)
    try:
        variables(template)
    except OddTemplate:
        return
    assert isinstance(expanded(template, {}), str)


@pytest.mark.parametrize("pattern", ["{a}", "{+a}", "{a}x", "{+a}x", "{a}/{b}"])
def test_a_thousand_hostile_templates_take_no_long_time(pattern: str) -> None:
    templates = [f"{pattern * 16}!{number}" for number in range(1_000)]
    started = time.monotonic()

    assert not any(matches(template, "x/" * 4_000) for template in templates)
    assert time.monotonic() - started < 5
