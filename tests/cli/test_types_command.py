"""`toolcrib types`: schemas, tools, types and capability forms, told apart and shown."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.machine import Machine, Ran

SCHEMA = {
    "type": "object",
    "properties": {
        "owner": {"type": "string"},
        "repo": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"type": "string", "enum": ["open", "closed"]},
    },
    "required": ["owner", "repo"],
}
TOOL = {
    "name": "create_issue",
    "inputSchema": SCHEMA,
    "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
}
TYPE = '[:map [:owner :string] [:state {:optional true} [:enum "open" "closed"]]]'
SIGNATURE = '(owner: string, repo: string, labels?: string[], state?: "open"|"closed")'


@pytest.fixture
def typed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(given: Any, *options: str) -> Ran:
        text = given if isinstance(given, str) else json.dumps(given)
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return machine.run("types", "-", *options)

    return run


def test_a_schema_is_shown_as_type_and_signature(typed: Any) -> None:
    assert typed(SCHEMA).out == (
        "Type:\n"
        "  [:map\n"
        "    [:owner :string]\n"
        "    [:repo :string]\n"
        "    [:labels {:optional true} [:vector :string]]\n"
        "    [:state {:optional true} :string]]\n"
        "Signature:\n"
        f"  {SIGNATURE}\n"
    )


def test_a_tool_is_shown_with_what_it_takes_and_gives(typed: Any) -> None:
    assert typed(TOOL).out == (
        "Tool: create_issue\n"
        "Input type:\n"
        "  [:map\n"
        "    [:owner :string]\n"
        "    [:repo :string]\n"
        "    [:labels {:optional true} [:vector :string]]\n"
        "    [:state {:optional true} :string]]\n"
        "Signature:\n"
        f"  create_issue{SIGNATURE}\n"
        "Output type:\n"
        "  [:map\n"
        "    [:id :int]]\n"
        "Returns:\n"
        "  {id: integer}\n"
    )


def test_values_and_bounds_are_kept_where_that_is_asked_for(typed: Any) -> None:
    assert '[:state {:optional true} [:enum "open" "closed"]]' in typed(SCHEMA, "--exact").out
    assert typed({"type": "integer", "minimum": 1}, "--exact", "--json").json["type"] == "[:and :int [:>= 1]]"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([TOOL, TOOL], ["create_issue", "create_issue"]),
        ({"tools": [TOOL]}, ["create_issue"]),
        ({"type": "function", "function": {"name": "f", "parameters": SCHEMA}}, ["f"]),
        ({"name": "f", "parameters": SCHEMA}, ["f"]),
        ({"input_schema": SCHEMA}, ["tool"]),
        ([], []),
    ],
)
def test_tools_are_known_in_the_shapes_they_come_in(typed: Any, given: Any, names: list[str]) -> None:
    assert [tool["name"] for tool in typed(given, "--json").json["tools"]] == names


def test_a_type_is_shown_as_json_schema_and_nothing_else(typed: Any) -> None:
    ran = typed(f"; an issue\n{TYPE}\n")
    assert ran.code == 0
    assert ran.json == {
        "type": "object",
        "properties": {"owner": {"type": "string"}, "state": {"enum": ["open", "closed"]}},
        "required": ["owner"],
    }
    assert ran.err == ""


def test_the_json_of_a_type_has_both(typed: Any) -> None:
    assert typed(":string?", "--json").json == {
        "type": "[:union :string :nil]",
        "signature": "string|null",
        "schema": {"type": ["string", "null"]},
        "warnings": [],
    }


def test_capability_forms_are_shown_with_their_schemas(typed: Any) -> None:
    text = f"; exported\n(capability :mcp.x.y :input-schema {TYPE}) (capability :mcp.x.z :output-schema [:vector :int])"
    found = typed(text, "--json").json["capabilities"]
    assert [one["id"] for one in found] == ["mcp.x.y", "mcp.x.z"]
    assert found[0]["input"]["signature"] == 'mcp.x.y(owner: string, state?: "open"|"closed")'
    assert found[1]["output"]["schema"] == {"type": "array", "items": {"type": "integer"}}
    assert "Output schema:\n" in typed(text).out


@pytest.mark.parametrize("given", [True, {"type": "string"}, {"type": "object", "properties": {}}])
def test_any_schema_has_some_answer(typed: Any, given: Any) -> None:
    assert typed(given).code == 0


def test_what_could_not_be_read_is_noted_beside_the_answer(typed: Any) -> None:
    ran = typed({"type": "array", "items": {"type": "nope"}})
    assert ran.out.startswith("Type:\n  [:vector :any]\n")
    assert ran.err == "note: /items has the unknown type 'nope'\n"
    assert (
        typed({"name": "f", "inputSchema": {"type": "nope"}}).err
        == "note: input the schema has the unknown type 'nope'\n"
    )


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("", "VALIDATION_ERROR", "nothing to read"),
        ("{oops", "VALIDATION_ERROR", "not JSON"),
        ("[" * 100_000 + "1", "VALIDATION_ERROR", "nested too deep"),
        ("[1, 2]", "VALIDATION_ERROR", "tool definitions"),
        ("[:map\n  [:a]]", "RTFS_ERROR", "line 2, column 3"),
        ("(server :a)", "RTFS_ERROR", "line 1, column 1"),
        ("#| never closed", "RTFS_ERROR", "never closed"),
    ],
)
def test_a_text_that_cannot_be_read_ends_with_one_and_says_why(typed: Any, given: str, code: str, said: str) -> None:
    ran = typed(given)
    assert ran.code == 1
    assert said in ran.err
    assert ran.out == ""
    error = typed(given, "--json").json["error"]
    assert error["code"] == code
    assert said in error["message"]


def test_an_error_of_a_type_gives_its_place_as_numbers(typed: Any) -> None:
    error = typed("[:map\n  [:a]]", "--json").json["error"]
    assert (error["line"], error["column"]) == (2, 3)


def test_a_file_is_read(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8-sig")
    assert machine.run("types", str(file), "--json").json["signature"] == SIGNATURE


@pytest.mark.parametrize("content", [None, b"\xff\xfe{"])
def test_a_file_that_cannot_be_read_is_named(machine: Machine, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "schema.json"
    if content is not None:
        file.write_bytes(content)
    ran = machine.run("types", str(file))
    assert ran.code == 1
    assert "schema.json can't be read" in ran.err


def test_nothing_in_a_schema_reaches_the_terminal_as_it_is(typed: Any) -> None:
    hostile = {"name": "a\x1b]0;x\x07", "inputSchema": {"properties": {"k\x1b[2J\u202e": {"enum": ["v\x1b[31m\nw"]}}}}
    for options in ([], ["--exact"], ["--json"]):
        ran = typed(hostile, *options)
        assert ran.code == 0
        assert "\x1b" not in ran.out
        assert "\u202e" not in ran.out
