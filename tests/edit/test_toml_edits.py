from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.edit.reading import parsed
from toolcrib.edit.changes import Drop, EditRefused, Put
from toolcrib.edit.document import edited

CODEX = b'''# codex
model = "x"   # which

[mcp_servers.a]
command = "x" # why
# inner
args = [
  "a", # first
  "]",
]

# about b
[mcp_servers."b.c"]
command = 'y'
[mcp_servers."b.c".env]
K = """
many # lines
[not.a.table]
"""

# after
[other]
z = 1
'''
ENTRY = {"command": "/bin/x", "args": ["-y"], "env": {"A": 'q"\n'}}


def test_a_new_table_stands_after_its_family_and_nothing_else_moves():
    after = edited(CODEX, "toml", [Put(("mcp_servers", "t"), ENTRY)])
    table = b'\n[mcp_servers.t]\ncommand = "/bin/x"\nargs = ["-y"]\n\n[mcp_servers.t.env]\nA = "q\\"\\n"\n'
    assert after == CODEX.replace(b'"""\n\n# after', b'"""\n' + table + b"\n# after")
    assert edited(after, "toml", [Drop(("mcp_servers", "t"))]) == CODEX


def test_a_table_goes_with_all_its_parts_and_outer_comments_stay():
    after = edited(CODEX, "toml", [Drop(("mcp_servers", "b.c")), Drop(("mcp_servers", "a"))])
    assert after == b'# codex\nmodel = "x"   # which\n\n# about b\n\n# after\n[other]\nz = 1\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"[s.k]\ne = false\n"),
        (b"a = 1", b"a = 1\n\n[s.k]\ne = false\n"),
        (b"[s.k]\ne = true # on\n", b"[s.k]\ne = false # on\n"),
        (b"[s.k]\nc = 1\n[s.k.env]\nx = 1\n", b"[s.k]\nc = 1\ne = false\n[s.k.env]\nx = 1\n"),
        (b"[s]\nk = { c = 1 }\n", b"[s]\nk = { c = 1, e = false }\n"),
        (b"s = { k = { c = 1 } }\n", b"s = { k = { c = 1, e = false } }\n"),
        (b"[s]\r\n[s.k]\r\nc = 1\r\n", b"[s]\r\n[s.k]\r\nc = 1\r\ne = false\r\n"),
        (b"\xef\xbb\xbf[s.k] # k\nc = 1", b"\xef\xbb\xbf[s.k] # k\nc = 1\ne = false"),
    ],
)
def test_a_value_finds_its_place_in_any_layout(before, after):
    assert edited(before, "toml", [Put(("s", "k", "e"), False)]) == after


@pytest.mark.parametrize(
    ("before", "place", "after"),
    [
        (b"[s]\nk = { c = 1 }\nz = 1\n", ("s", "k"), b"[s]\nz = 1\n"),
        (b"s.k.c = 1\ns.k.d = 2\nz = 1\n", ("s", "k"), b"z = 1\n"),
        (b"s = { k = 1, z = 2 }\n", ("s", "k"), b"s = { z = 2 }\n"),
        (b"[s.k]\nc = 1\n[o]\nz = 1\n[s.k.env]\na = 1\n", ("s", "k"), b"[o]\nz = 1\n"),
        (b"[[s]]\nn = 1\n[[s]]\nn = 2 # two\n", ("s", 0), b"[[s]]\nn = 2 # two\n"),
        (b"a = 1\n[s.k]\nc = 1", ("s", "k"), b"a = 1"),
        (b"a = 1\n", ("s", "k"), b"a = 1\n"),
    ],
)
def test_a_key_is_taken_away_in_any_layout(before, place, after):
    assert edited(before, "toml", [Drop(place)]) == after


def test_a_list_of_tables_grows_at_its_end():
    before = b"[[s]]\nn = 1\n[s.env]\na = 1\n\n[o]\n"
    after = edited(before, "toml", [Put(("s", 1), {"n": 2, "env": {"b": "x"}})])
    assert tomllib.loads(after.decode())["s"] == [{"n": 1, "env": {"a": 1}}, {"n": 2, "env": {"b": "x"}}]
    assert edited(after, "toml", [Drop(("s", 1))]) == before


def test_a_new_top_key_stands_before_every_table():
    assert edited(b"[a]\nb = 1\n", "toml", [Put(("k",), [1, True, 1.5])]) == b"k = [1, true, 1.5]\n[a]\nb = 1\n"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (b"a = ", Put(("k",), 1)),
        (b"!\n", Drop(("k",))),
        (b"a = 1\na = 2\n", Put(("k",), 1)),
        (b"k = 1\n", Put(("k", "x"), 1)),
        (b"", Put(("k",), None)),
        (b"", Put(("k", 0), 1)),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_refused(text, change):
    with pytest.raises(EditRefused):
        edited(text, "toml", [change])


KEYS = st.sampled_from(["a", "b-1", "with.dot", "sp ace", 'quo"te', "é"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8)
VALUES = TEXTS | st.integers(-9, 9) | st.booleans() | st.lists(TEXTS, max_size=3)
TABLES = st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES, min_size=1, max_size=2), min_size=1, max_size=3)


@settings(max_examples=200)
@given(st.lists(st.tuples(KEYS, TABLES), max_size=3, unique_by=lambda item: item[0]), TABLES, st.booleans())
def test_tables_are_put_and_taken_away_again_without_a_trace(tables, value, has_other):
    text = edited(b"# top\nmodel = 1\n", "toml", [Put(("m", key), table) for key, table in tables])
    text += b"\n# end\n[other]\nx = 1\n" if has_other else b""
    after = edited(text, "toml", [Put(("m", "new"), value)])
    assert parsed(after, "toml")["m"] == {**dict(tables), "new": value}
    assert edited(after, "toml", [Drop(("m", "new"))]) == text
