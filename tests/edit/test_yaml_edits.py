from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.edit.reading import parsed
from toolcrib.edit.changes import Drop, EditRefused, Put, changed_data
from toolcrib.edit.document import edited

OURS = b"""# our file
discovery:
  # the servers
  servers:
    a:
      command: x   # why x
      env: {A: b}
    # about b
    b:
      command: |
        one
        two

  # after the servers
  sources: auto
list:
- name: q
  v: 1
# before r
- name: r
"""
ENTRY = {"command": "/bin/x", "args": ["-y", "no: 1", "# not a comment"], "env": {"K": "yes"}}


def test_a_new_entry_stands_after_the_last_one_and_nothing_else_moves():
    after = edited(OURS, "yaml", [Put(("discovery", "servers", "c"), {"command": "z"})])
    assert after == OURS.replace(b"        two\n", b"        two\n    c:\n      command: z\n")
    assert edited(after, "yaml", [Drop(("discovery", "servers", "c"))]) == OURS


def test_an_entry_goes_and_the_comments_around_it_stay():
    after = edited(OURS, "yaml", [Drop(("discovery", "servers", "a"))])
    assert after == OURS.replace(b"    a:\n      command: x   # why x\n      env: {A: b}\n", b"")
    emptied = edited(after, "yaml", [Drop(("discovery", "servers", "b"))])
    assert parsed(emptied, "yaml")["discovery"] == {"servers": {}, "sources": "auto"}
    for comment in (b"# the servers", b"# about b", b"# after the servers"):
        assert comment in emptied


def test_lists_grow_and_shrink_by_whole_items():
    grown = edited(OURS, "yaml", [Put(("list", 2), ENTRY)])
    assert parsed(grown, "yaml")["list"][2] == ENTRY
    assert edited(grown, "yaml", [Drop(("list", 2))]) == OURS
    assert edited(OURS, "yaml", [Drop(("list", 0))]) == OURS.replace(b"- name: q\n  v: 1\n", b"")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"s:\n  k:\n    e: false\n"),
        (b"# nothing yet", b"# nothing yet\ns:\n  k:\n    e: false\n"),
        (b"s:\n", b"s:\n  k:\n    e: false\n"),
        (b"s: {}\nt: 1\n", b"s:\n  k:\n    e: false\nt: 1\n"),
        (b"s: {} # none\nt: 1\n", b"s:\n  k:\n    e: false # none\nt: 1\n"),
        (b"s:\n  k: {c: x}\n", b's:\n  k: {c: x, "e": false}\n'),
        (b"s:\n  k: {c: x,}\n", b's:\n  k: {c: x, "e": false}\n'),
        (b"s:\n  k:\n    e: true # on\n", b"s:\n  k:\n    e: false # on\n"),
        (b"s:\r\n  k:\r\n    c: x\r\nt: 1\r\n", b"s:\r\n  k:\r\n    c: x\r\n    e: false\r\nt: 1\r\n"),
        (b"s: {k: {c: x}}", b's: {k: {c: x, "e": false}}'),
        (b"{s: {}}", b'{s: {"k": {"e": false}}}'),
        (b"\xef\xbb\xbfs:\n    k:\n        c: x", b"\xef\xbb\xbfs:\n    k:\n        c: x\n        e: false"),
        (b"---\ns:\n  k:\n    c: 'x'\n...\n", b"---\ns:\n  k:\n    c: 'x'\n    e: false\n...\n"),
    ],
)
def test_a_value_finds_its_place_in_any_layout(before, after):
    assert edited(before, "yaml", [Put(("s", "k", "e"), False)]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"{a: 1, k: 2, b: 3}", b"{a: 1, b: 3}"),
        (b"{k: 2, b: 3}", b"{b: 3}"),
        (b"{k: 2}", b"{}"),
        (b"a: 1\nk:\n  x: 1", b"a: 1"),
        (b"k: 2\n", b"{}\n"),
        (b"a: 1\n", b"a: 1\n"),
        (b"# only words\n", b"# only words\n"),
    ],
)
def test_a_key_is_taken_away_in_any_layout(before, after):
    assert edited(before, "yaml", [Drop(("k",))]) == after


def test_an_item_whose_dash_stands_alone_is_found():
    assert edited(b"l:\n  - a\n  -\n    x: 1\n  - b\n", "yaml", [Drop(("l", 1))]) == b"l:\n  - a\n  - b\n"


def test_what_an_alias_refers_to_is_not_taken_away():
    with pytest.raises(EditRefused):
        edited(b"a: &x {b: 1}\nc: *x\n", "yaml", [Drop(("a",))])
    assert edited(b"a: &x {b: 1}\nc: *x\n", "yaml", [Drop(("c",))]) == b"a: &x {b: 1}\n"


@pytest.mark.parametrize(
    "text",
    [b"a: [1", b"a: 1\na: 2\n", b"a: 1\n---\nb: 2\n", b"? [1]\n: 2\n", b"s: 1\n", b"s: [1]\n", b"- 1\n", b"s: !x y\n"],
)
def test_a_file_that_cannot_be_edited_safely_is_refused(text):
    with pytest.raises(EditRefused):
        edited(text, "yaml", [Put(("s", "k"), 1)])


def test_the_first_key_of_a_list_item_is_not_torn_off():
    with pytest.raises(EditRefused):
        edited(b"- k: 1\n  b: 2\n", "yaml", [Drop((0, "k"))])


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=8)
KEYS = st.sampled_from(["a", "b", "on", "1", "x y", "#k", "- z", "é"])
VALUES = st.recursive(
    WORDS | st.integers(-9, 9) | st.booleans(),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=6,
)


@st.composite
def documents(draw):
    """A block-style document with comment lines, and what it means."""
    data = draw(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000).splitlines()
    spaced = [more for line in lines for more in ([*draw(st.sampled_from([[], ["# c"], ["", "  # d"]])), line])]
    return newline.join([*spaced, ""]).encode(), data


@settings(max_examples=100)
@given(documents(), VALUES)
def test_taking_away_what_was_put_gives_back_every_byte(document, value):
    text, data = document
    after = edited(text, "yaml", [Put(("new",), value)])
    assert parsed(after, "yaml") == {**data, "new": value}
    assert edited(after, "yaml", [Drop(("new",))]) == text


@settings(max_examples=100)
@given(documents(), st.data())
def test_the_edited_text_means_the_edited_data_and_outer_comments_survive(document, draw):
    text, data = document
    key = draw.draw(st.sampled_from([*data]))
    for change in (Drop((key,)), Put((key,), draw.draw(VALUES))):
        assert parsed(edited(text, "yaml", [change]), "yaml") == changed_data(data, [change])


@pytest.mark.parametrize("before", [b'{"a": {"x": 1}}', b'{\n  "a": {\n    "x": 1\n  }\n}\n', b"a: {x: 1}\n"])
@given(st.text(), st.text(min_size=1))
def test_any_text_can_be_put_into_a_file_in_the_style_of_json(before: bytes, text: str, key: str) -> None:
    changes = [Put(("a", "b"), [text]), Put(("a", f"k{key}"), text)]

    after = edited(before, "yaml", changes)

    assert yaml.safe_load(after)["a"] == {"x": 1, "b": [text], f"k{key}": text}
