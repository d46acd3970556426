from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.malformed import MAX_DEPTH, Malformed
from toolcrib.config.ts_data import parse_ts

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)
FILLERS = st.sampled_from(["", " ", "\n\t", "/* a { [ ' */", '// b } ] "\n', " /**/ //\r\n"])

FULL = r"""
// My tools
import { config, type Config } from '@anygpt/config';
import type { Other } from "./other"
import './side-effect';

/* exported */
export default config({
  discovery: {
    enabled: true,
    cache: { enabled: false, ttl: 3_600, },
    'quoted-key': "double",
    "other": 'it\'s',
    tick: `two
lines and $5`,
    $dollar_1: null,
    1: undefined,
    hex: 0xff, negative: -1.5e3, half: .5,
    toolRules: [
      { pattern: [/^(read|list)_[/\]]+\/x$/i, '!*secret*'], enabled: false as const },
    ],
  },
} satisfies Config);
"""


def test_everything_a_person_writes_is_read():
    assert parse_ts(FULL) == {
        "discovery": {
            "enabled": True,
            "cache": {"enabled": False, "ttl": 3600},
            "quoted-key": "double",
            "other": "it's",
            "tick": "two\nlines and $5",
            "$dollar_1": None,
            "1": None,
            "hex": 255,
            "negative": -1500.0,
            "half": 0.5,
            "toolRules": [{"pattern": [r"/^(read|list)_[/\]]+\/x$/i", "!*secret*"], "enabled": False}],
        }
    }


@pytest.mark.parametrize(
    "text",
    [
        "export default {a: 1}",
        "export default ({a: 1})".replace("(", "").replace(")", ""),
        "export default defineConfig({a: 1},);",
        "export default tools.define( {a: 1} ) ;;",
        "export default {a: 1} as const",
        "export default {a: 1} satisfies Config<string>;",
        "module.exports = {a: 1};",
    ],
)
def test_every_usual_wrapping_is_understood(text):
    assert parse_ts(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "  // nothing\n", "import 'x'"])
def test_nothing_is_an_empty_map(text):
    assert parse_ts(text) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'\x41\u0042\u{43}\n\t\\\0'", "ABC\n\t\\\0"),
        (r"'\ud83d\ude00'", "😀"),
        ("'a\\\nb'", "ab"),
        (r"'\q'", "q"),
        ("`\\`\\${x}`", "`${x}"),
        ("'${NAME}'", "${NAME}"),
        ("0b11", 3),
        ("0o17", 15),
        ("1.", 1.0),
        ("+2", 2),
        ("/a[/]b/", "/a[/]b/"),
    ],
)
def test_texts_and_numbers_are_read_as_javascript_reads_them(text, value):
    assert parse_ts(f"export default {{a: {text}}}") == {"a": value}


REFUSED = {
    "a variable": ("const a = 1\nexport default {}", 1, 1),
    "another statement after": ("export default {}\nrun()", 2, 1),
    "a function call inside": ("export default {\n  a: load()}", 2, 6),
    "process.env": ("export default {a: process.env.KEY}", 1, 20),
    "a substitution": ("export default {a: `x ${y}`}", 1, 23),
    "a spread": ("export default {...other}", 1, 17),
    "a spread in a list": ("export default [...other]", 1, 17),
    "a shorthand": ("export default {a}", 1, 18),
    "a method": ("export default {a() {}}", 1, 18),
    "a computed key": ("export default {[a]: 1}", 1, 17),
    "an arrow function": ("export default () => ({})", 1, 16),
    "a sum": ("export default {a: 1 + 2}", 1, 22),
    "a second argument": ("export default config({}, {})", 1, 27),
    "two calls": ("export default a(b({}))", 1, 18),
    "a key twice": ("export default {a: 1,\n 'a': 2}", 2, 2),
    "an open text": ("export default {a: 'x\n'}", 1, 20),
    "an open comment": ("export default {} /* x", 1, 19),
    "an open object": ("export default {a: 1", 1, 21),
    "nothing exported": ("export default", 1, 15),
    "an odd escape": (r"export default {a: '\u12'}", 1, 21),
    "half a character": (r"export default {a: '\ud83d'}", 1, 20),
    "a character beyond all": (r"export default {a: '\u{110000}'}", 1, 31),
    "a number beyond all": ("export default {a: 1e999}", 1, 20),
    "a number that is none": ("export default {a: 12px}", 1, 20),
    "an odd number": ("export default {a: 0x_}", 1, 20),
    "a hole in a list": ("export default [1,,2]", 1, 19),
    "a negative key": ("export default {-1: 2}", 1, 17),
    "an import that calls": ("import('x')", 1, 1),
    "a plain expression": ("42", 1, 1),
}


@pytest.mark.parametrize(("text", "line", "column"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_plain_data_is_refused_with_its_place(text, line, column):
    with pytest.raises(Malformed) as refusal:
        parse_ts(text)
    assert (refusal.value.line, refusal.value.column) == (line, column)


@pytest.mark.parametrize("opening", ["[", "{a:"])
def test_deep_nesting_is_refused(opening):
    with pytest.raises(Malformed, match="nested deeper"):
        parse_ts("export default " + opening * (MAX_DEPTH + 1))


@pytest.mark.parametrize(
    "text",
    [
        "export default " + "/* " * 400_000,
        "export default {a: /" + "[" * 400_000,
        "export default {a: '" + "\\" * 400_001,
        "export default {a: " + "1" * 400_000 + "}",
        "import " + "a " * 200_000,
        "import " * 60_000,
        "export default {a: " + " //\n" * 200_000,
        "export default {} as " + "a." * 200_000 + "!",
        "export default [" + "1," * 150_000 + "]",
    ],
    ids=range(9),
)
def test_a_hostile_script_is_an_error_and_no_hang(text):
    with pytest.raises(Malformed):
        parse_ts(text)


@given(PLAIN)
def test_json_is_read_as_what_it_says(data):
    assert parse_ts(f"export default {json.dumps(data)}") == data


@given(st.lists(FILLERS, min_size=9, max_size=9))
def test_blanks_and_comments_may_stand_anywhere(fillers):
    words = ["export default ", "c(", "{", "a", ":", "[1,", "'/*x*/'", "]", "}", ")"]
    text = "".join(word + filler for word, filler in zip(words, [*fillers, ""], strict=True))
    assert parse_ts(text) == {"a": [1, "/*x*/"]}


@given(st.text() | st.text(st.sampled_from("{}[]:,'`\"\\/*ab1.-$( )\n")))
def test_any_text_is_read_or_refused(text):
    for whole in (text, f"export default {text}"):
        with suppress(Malformed):
            assert isinstance(parse_ts(whole), dict | list | str | int | float | None)
