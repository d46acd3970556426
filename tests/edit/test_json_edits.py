from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.edit.reading import parsed
from toolcrib.edit.changes import Drop, EditRefused, Put, changed_data, look_up
from toolcrib.edit.document import edited

ENTRY = {"command": "/bin/toolcrib", "args": ["serve"], "env": {"A": "ü"}}
COMMENTED = b"""// mine
{
\t// the servers
\t"mcpServers": {
\t\t"a": {"command": "x"}, // about a
\t\t/* b is next */
\t\t"b": {
\t\t\t"command": "y" // why
\t\t} // after b
\t},
\t"list": [1, 2,],
}
"""


def test_a_new_entry_is_written_in_the_style_of_the_file():
    assert edited(COMMENTED, "json", [Put(("mcpServers", "c"), {"command": "z"})]) == COMMENTED.replace(
        b"\t\t} // after b\n", b'\t\t}, // after b\n\t\t"c": {\n\t\t\t"command": "z"\n\t\t}\n'
    )


def test_an_entry_goes_with_the_comment_on_its_line_and_leaves_all_others():
    without_a = edited(COMMENTED, "json", [Drop(("mcpServers", "a"))])
    assert without_a == COMMENTED.replace(b'\n\t\t"a": {"command": "x"}, // about a', b"")
    both = edited(without_a, "json", [Drop(("mcpServers", "b"))])
    assert b"// the servers" in both
    assert b"/* b is next */" in both
    assert parsed(both, "json") == {"mcpServers": {}, "list": [1, 2]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b'{\n  "m": {\n    "k": 1\n  }\n}\n'),
        (b"// only a comment", b'// only a comment\n{\n  "m": {\n    "k": 1\n  }\n}\n'),
        (b"{}", b'{"m": {"k": 1}}'),
        (b'{"m":{}}', b'{"m":{"k": 1}}'),
        (b'{"m":{"a":0}}', b'{"m":{"a":0, "k": 1}}'),
        (b'{"m": null}', b'{"m": {"k": 1}}'),
        (b'{\r\n    "m": {}\r\n}\r\n', b'{\r\n    "m": {\r\n        "k": 1\r\n    }\r\n}\r\n'),
        (b'\xef\xbb\xbf{"m": {"k": 0}}', b'\xef\xbb\xbf{"m": {"k": 1}}'),
        (b'{"m": {\n  // none yet\n}}', b'{"m": {\n  // none yet\n  "k": 1\n}}'),
        (b'{\n"a": 1 /* x\ny */ }', b'{\n"a": 1,\n"m": {\n  "k": 1\n} /* x\ny */ }'),
    ],
)
def test_a_value_finds_its_place_in_any_layout(before, after):
    assert edited(before, "json", [Put(("m", "k"), 1)]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{"a": 1, "k": 2, "b": 3}', b'{"a": 1, "b": 3}'),
        (b'{"k": 2, "b": 3}', b'{"b": 3}'),
        (b'{"a": 1, "k": 2,}', b'{"a": 1,}'),
        (b'{"k": 2}', b"{}"),
        (b'{\n  "a": 1, // x\n  "k": 2, "b": 3\n}', b'{\n  "a": 1, // x\n  "b": 3\n}'),
        (b'{\n  "a": 1, // x\n  "k": 2 }', b'{\n  "a": 1 // x\n   }'),
        (b'{"a": 1}', b'{"a": 1}'),
    ],
)
def test_a_key_is_taken_away_without_harm_to_its_neighbours(before, after):
    assert edited(before, "json", [Drop(("k",))]) == after


def test_a_list_grows_at_its_end_and_loses_items_anywhere():
    grown = edited(b'{"l": [\n  1,\n  2\n]}', "json", [Put(("l", 2), {"x": 1})])
    assert parsed(grown, "json") == {"l": [1, 2, {"x": 1}]}
    assert edited(grown, "json", [Drop(("l", 2))]) == b'{"l": [\n  1,\n  2\n]}'


@pytest.mark.parametrize(
    "text",
    [b'{"a": 1', b'{"a" 1}', b'{"a": 1 "b": 2}', b"{} {}", b'{"a": 1, "a": 2}', b"[" * 300, b"{'a': 1}", b"\xff"],
)
def test_a_file_that_is_not_understood_is_refused(text):
    with pytest.raises(EditRefused):
        edited(text, "json", [Put(("m", "k"), 1)])


@pytest.mark.parametrize(("text", "place"), [(b'{"m": 1}', ("m", "k")), (b'{"m": []}', ("m", "k")), (b"[]", ("k",))])
def test_a_key_has_no_place_in_something_that_is_no_map(text, place):
    with pytest.raises(EditRefused):
        edited(text, "json", [Put(place, 1)])


KEYS = st.sampled_from(["a", "b", "command", "ä", "with space", 'quo"te', "//", "/*"])
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
DATA = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
MAPS = st.dictionaries(KEYS, DATA, max_size=4)


@st.composite
def documents(draw):
    """JSON with comments, odd blanks and trailing commas, and what it means."""
    data = draw(MAPS)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    blanks = st.sampled_from(["", " ", newline, f"{newline}\t", f" // c}}{newline}  ", " /* d, */ ", f"/*{newline}*/"])

    def write(value):
        if not isinstance(value, dict | list) or not value:
            return json.dumps(value, ensure_ascii=False)
        items = (
            [f"{json.dumps(key)}{draw(blanks)}:{draw(blanks)}{write(inner)}" for key, inner in value.items()]
            if isinstance(value, dict)
            else [write(inner) for inner in value]
        )
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        inside = "".join(
            f"{draw(blanks)}{item}{draw(blanks)}{',' if number < len(items) - 1 or draw(st.booleans()) else ''}"
            for number, item in enumerate(items)
        )
        return f"{opening}{inside}{draw(blanks)}{closing}"

    return (draw(blanks) + write(data) + draw(blanks)).encode(), data


@settings(max_examples=200)
@given(documents(), st.sampled_from(["new", "other"]), DATA)
def test_taking_away_what_was_put_gives_back_every_byte(document, key, value):
    text, data = document
    after = edited(text, "json", [Put((key,), value)])
    assert parsed(after, "json") == {**data, key: value}
    assert edited(after, "json", [Drop((key,))]) == text


@given(documents(), st.data())
def test_the_edited_text_means_the_edited_data(document, draw):
    text, data = document
    key = draw.draw(st.sampled_from([*data, "new"]))
    change = draw.draw(st.sampled_from([Put((key,), ENTRY), Drop((key,)), Put(("new", "inner"), 1)]))
    after = edited(text, "json", [change])
    assert parsed(after, "json") == changed_data(data, [change])
    others = {name: look_up(parsed(after, "json"), (name,)) for name in data if name != key}
    assert others == {name: value for name, value in data.items() if name != key}
