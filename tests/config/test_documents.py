from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.documents import parse_document, read_bytes
from toolcrib.errors import ConfigurationError


def parse(text: str, extension: str) -> object:
    return parse_document(text.encode(), Path(f"file{extension}"))


SAME = {"servers": {"one": {"args": ["a", 1, True, None, 1.5]}}}


@pytest.mark.parametrize(
    ("extension", "text"),
    [
        (".json", '{"servers": {"one": {"args": ["a", 1, true, null, 1.5]}}}'),
        (".json", '// top\n{"servers": {/* in */ "one": {"args": ["a", 1, true, null, 1.5,],},}, }\n'),
        (".yaml", "servers:\n  one:\n    args: [a, 1, true, null, 1.5]\n"),
        (".yml", "servers: {one: {args: ['a', 1, yes, ~, 1.5]}}"),
        (".conf", '{"servers": {"one": {"args": ["a", 1, true, null, 1.5]}}}'),
    ],
)
def test_every_format_gives_the_same_plain_data(extension, text):
    assert parse(text, extension) == SAME


def test_toml_gives_plain_data():
    assert parse('[servers.one]\nargs = ["a", 1, true]\n', ".toml") == {"servers": {"one": {"args": ["a", 1, True]}}}


@pytest.mark.parametrize("extension", [".json", ".yaml", ".toml"])
def test_an_empty_file_is_an_empty_map(extension):
    assert parse("  \n", extension) == {}


@pytest.mark.parametrize("extension", [".json", ".yaml", ".toml"])
def test_a_byte_order_mark_is_tolerated(extension):
    text = {"toml": "a = 1"}.get(extension[1:], '{"a": 1}')
    assert parse("\ufeff" + text, extension) == {"a": 1}


def test_comment_marks_inside_json_texts_are_text():
    assert parse('{"url": "http://x/*y*/", "a": "b,]", // c\n}', ".json") == {"url": "http://x/*y*/", "a": "b,]"}


def test_yaml_keys_are_always_text_and_dates_stay_text():
    assert parse("1: a\non: b\nwhen: 2026-01-02\n", ".yaml") == {"1": "a", "on": "b", "when": "2026-01-02"}


def test_yaml_anchors_aliases_and_merges_work_in_moderation():
    text = "base: &base {command: npx, args: [-y]}\none:\n  <<: *base\n  args: [x]\ntwo: *base\n"
    data = parse(text, ".yaml")
    assert data["one"] == {"command": "npx", "args": ["x"]}
    assert data["two"] == {"command": "npx", "args": ["-y"]}


ALIAS_BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(ord(name) + 1)}: &{chr(ord(name) + 1)} [{','.join([f'*{name}'] * 10)}]\n" for name in "abcdefgh"
)

HOSTILE = {
    "json cut short": (".json", '{"a": [1, 2'),
    "json with a key twice": (".json", '{"a": 1, "a": 2}'),
    "json with comments and a key twice": (".json", '{"a": 1, "a": 2} // twice'),
    "json with a comment before a key twice": (".json", '// twice\n{"a": 1, "a": 2}'),
    "yaml with a huge number": (".yaml", "a: " + "9" * 5000),
    "toml with a huge number": (".toml", "a = " + "9" * 5000),
    "json with NaN": (".json", '{"a": NaN}'),
    "json with a huge number": (".json", '{"a": ' + "9" * 5000 + "}"),
    "json nested deeply": (".json", "[" * 65 + "]" * 65),
    "json nested absurdly": (".json", "[" * 200_000),
    "json with an open comment": (".json", '{"a": 1 /* '),
    "yaml with a tag": (".yaml", "a: !!python/object/apply:os.system [ls]"),
    "yaml with a harmless tag": (".yaml", "a: !thing b"),
    "yaml with a key twice": (".yaml", "a: 1\nb: 2\na: 3"),
    "yaml nested deeply": (".yaml", "a: " + "[" * 65 + "]" * 65),
    "yaml nested absurdly": (".yaml", "a: " + "[" * 200_000),
    "yaml alias bomb": (".yaml", ALIAS_BOMB),
    "yaml eating itself": (".yaml", "a: &a [*a]"),
    "yaml with an unknown alias": (".yaml", "pattern: [*github*]"),
    "yaml with a map as key": (".yaml", "? {a: 1}\n: 2"),
    "yaml with an alias as key": (".yaml", "a: &a b\n*a : 2"),
    "yaml with two documents": (".yaml", "a: 1\n---\nb: 2"),
    "yaml merging a text": (".yaml", "a:\n  <<: text"),
    "yaml with a tab": (".yaml", "a:\n\tb: 1"),
    "yaml with a control character": (".yaml", "a: \x01"),
    "yaml with many values": (".yaml", "a: [" + "1," * 200_001 + "]"),
    "toml with a key twice": (".toml", "a = 1\na = 2"),
    "toml nested absurdly": (".toml", "a = " + "[" * 200_000),
    "toml with a long dotted key": (".toml", ".".join(["a"] * 100_000) + " = 1"),
    "toml cut short": (".toml", "a = "),
}


@pytest.mark.parametrize(("extension", "text"), HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.timeout(20)
def test_a_hostile_file_is_refused_by_name(extension, text):
    with pytest.raises(ConfigurationError) as refusal:
        parse(text, extension)
    assert [problem.source for problem in refusal.value.problems] == [f"file{extension}"]


@pytest.mark.parametrize(
    ("extension", "text", "place"),
    [
        (".json", '{\n  "a": 1,\n  "b": oops\n}', "line 3, column 8"),
        (".json", '{ // one\n  /* two\n */ "b": oops\n}', "line 3, column 10"),
        (".yaml", "a: 1\nb: [1\n", "line 3, column 1"),
        (".yaml", "a: 1\n\nb: !x 1\n", "line 3, column 4"),
        (".toml", "a = 1\nb = oops\n", "line 2, column 5"),
    ],
)
def test_an_error_says_where_in_the_file(extension, text, place):
    with pytest.raises(ConfigurationError) as refusal:
        parse(text, extension)
    assert refusal.value.problems[0].where == place


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_and_32_are_refused_clearly(encoding):
    with pytest.raises(ConfigurationError, match="UTF-8"):
        parse_document('{"a": 1}'.encode(encoding), Path("a.json"))


def test_bytes_that_are_no_text_are_refused_with_their_line():
    with pytest.raises(ConfigurationError) as refusal:
        parse_document(b'{"a":\n "\xff"}', Path("a.json"))
    assert refusal.value.problems[0].where == "line 2"


def test_a_file_of_fifty_megabytes_is_refused_without_being_parsed(tmp_path):
    large = tmp_path / "large.json"
    with large.open("wb") as stream:
        stream.truncate(50 * 1024 * 1024)
    with pytest.raises(ConfigurationError, match="larger than"):
        read_bytes(large)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    pipe = tmp_path / "config.yaml"
    os.mkfifo(pipe)
    with pytest.raises(ConfigurationError, match="not a regular file"):
        read_bytes(pipe)


def test_a_socket_and_a_folder_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.json")
        with pytest.raises(ConfigurationError):
            read_bytes(Path("s.json"))
    with pytest.raises(ConfigurationError, match="folder"):
        read_bytes(tmp_path)


def test_a_missing_file_and_an_impossible_name_are_refused(tmp_path):
    for path in (tmp_path / "none.json", Path("a\x00b.json")):
        with pytest.raises(ConfigurationError):
            read_bytes(path)


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.text())
def test_any_text_gives_data_or_a_configuration_error(text):
    for extension in (".json", ".yaml", ".toml"):
        path, problems = Path(f"f{extension}"), []
        try:
            parse_document(text.encode("utf-8", "surrogatepass"), path)
        except ConfigurationError as refused:
            problems = refused.problems
        assert [problem.source for problem in problems] in ([], [str(path)])


@given(st.dictionaries(st.text(), plain_data, max_size=5))
def test_json_with_a_comment_reads_as_the_same_json_without_one(data):
    text = json.dumps(data, indent=1)
    assert parse_document(f"/* a */{text}// b".encode(), Path("f.json")) == data
