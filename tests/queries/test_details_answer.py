"""What an agent reads of a tool before it runs it, in tokens of o200k_base."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.agent_tokens import compact, count
from toolcrib.model.tool import Tool
from toolcrib.model.view import Parameter, ToolDetails
from toolcrib.queries.details_answer import encode, render_details
from toolcrib.schema.details import describe


def shown(found: ToolDetails) -> dict[str, Any]:
    return json.loads(encode(render_details(found)))


def of_schema(schema: dict[str, Any], **definition: Any) -> dict[str, Any]:
    """The answer for a tool with this input schema."""
    tool = Tool.from_mcp("s", {"name": "t", "description": "Does it.", "inputSchema": schema, **definition})
    return shown(describe(tool, enabled=True, tags=()))


def of_parameter(schema: Any) -> dict[str, Any]:
    return of_schema({"type": "object", "properties": {"x": schema}})


def parameter(schema: Any) -> dict[str, Any]:
    (found,) = of_parameter(schema)["parameters"]
    return found


def details(**more: Any) -> ToolDetails:
    values: dict[str, Any] = {
        "server": "files",
        "tool": "read",
        "description": "Reads.",
        "parameters": (Parameter("path", "string", "Which file", required=True), Parameter("n", "integer", "", False)),
        "signature": "",
        "enabled": True,
        "tags": (),
        "examples": (),
        "returns": "",
        "definition": {},
    }
    return ToolDetails(**{**values, **more})


def test_details_hold_the_parameters_and_leave_out_what_is_empty() -> None:
    assert shown(details()) == {
        "server": "files",
        "tool": "read",
        "description": "Reads.",
        "parameters": [
            {"name": "path", "type": "string", "description": "Which file", "required": True},
            {"name": "n", "type": "integer", "required": False},
        ],
    }


def test_details_add_signature_examples_and_returns_where_there_are_some() -> None:
    answer = shown(details(signature="read(x)", examples=({"path": "/"},), returns="string", enabled=False))

    assert (answer["signature"], answer["examples"], answer["returns"]) == ("read(x)", [{"path": "/"}], "string")
    assert answer["enabled"] is False


def test_a_tool_without_parameters_says_so() -> None:
    assert shown(details(parameters=()))["parameters"] == []


def test_a_novel_for_a_description_is_cut_with_the_way_to_the_rest() -> None:
    answer = shown(details(description="x" * 5000))

    assert len(answer["description"]) < 2100
    assert "get_schema" in answer["note"]


# -- what a schema asks for besides types


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 100}, "integer 1..100"),
        ({"type": "integer", "minimum": 0}, "integer >=0"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}, "number <=1.5 >0"),
        ({"type": "integer", "multipleOf": 5}, "integer multiple of 5"),
        ({"type": "string", "minLength": 1}, "string >=1 chars"),
        ({"type": "string", "minLength": 2, "maxLength": 2}, "string 2 chars"),
        ({"type": "string", "minLength": 0, "maxLength": 64}, "string <=64 chars"),
        ({"type": "string", "format": "date-time"}, "string date-time"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "string /^[a-z]+$/"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5}, "string[] 1..5 items"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "string[] unique"),
        ({"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]}, "integer|null <=9"),
        ({"$ref": "#/$defs/Count"}, "integer >=1"),
        ({"type": "integer", "minimum": True, "maximum": "9"}, "integer"),
    ],
)
def test_bounds_are_told_with_the_type(schema: dict[str, Any], told: str) -> None:
    whole = {"properties": {"x": schema}, "$defs": {"Count": {"type": "integer", "minimum": 1}}}
    answer = of_schema(whole)

    assert answer["parameters"][0]["type"] == told
    assert "note" not in answer


@pytest.mark.parametrize("default", [10, 0, False, "", "UTC", [], {"a": [1]}, 12345678901234567890123, "naïve"])
def test_a_default_is_told(default: Any) -> None:
    assert parameter({"default": default})["default"] == default


def test_null_is_no_default_worth_a_word() -> None:
    assert "default" not in parameter({"type": ["string", "null"], "default": None})


def test_all_values_of_an_enum_are_told() -> None:
    zones = [f"Europe/City{number}" for number in range(18)]

    assert parameter({"enum": zones})["type"] == "|".join(f'"{zone}"' for zone in zones)


def test_a_description_that_only_repeats_the_name_is_left_out() -> None:
    answer = of_schema({"properties": {"repo_path": {"title": "Repo Path"}, "maxCount": {"title": "Max count"}}})

    assert not any("description" in found for found in answer["parameters"])


def test_what_is_inside_a_parameter_is_described() -> None:
    edit = {
        "type": "object",
        "properties": {
            "oldText": {"type": "string", "description": "Must match exactly"},
            "times": {"type": "integer", "minimum": 1, "default": 1},
            "where": {"properties": {"line": {"type": "integer", "description": "From 1 on", "minimum": 1}}},
        },
    }
    schema = {"properties": {"edits": {"type": "array", "items": edit}, "tags": {"items": {"maxLength": 9}}}}

    assert of_schema(schema)["fields"] == {
        "edits[].oldText": "Must match exactly",
        "edits[].times": ">=1, default 1",
        "edits[].where.line": "From 1 on (>=1)",
        "tags[]": "<=9 chars",
    }


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ({"readOnlyHint": True}, "read-only"),
        ({"readOnlyHint": True, "destructiveHint": True, "idempotentHint": True}, "read-only"),
        ({"readOnlyHint": False, "destructiveHint": True}, "destructive"),
        ({"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}, None),
        ({"title": "Words", "openWorldHint": True, "idempotentHint": False}, ""),
        ({"readOnlyHint": "yes"}, ""),
    ],
)
def test_annotations_are_told_in_a_few_words(annotations: dict[str, Any], told: str | None) -> None:
    expected = "not destructive, idempotent, closed world" if told is None else told

    assert of_schema({}, annotations=annotations).get("annotations", "") == expected


# -- the way to the rest


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"type": "string", "contentEncoding": "base64"}}},
        {"properties": {"x": {"type": "string", "pattern": "x" * 100}}},
        {"properties": {"x": {"type": "string", "default": "x" * 100}}},
        {"properties": {"x": {"enum": [f"value {number}" for number in range(200)]}}},
        {"properties": {"x": {"type": "string", "description": "x" * 3000}}},
        {"properties": {"x": {"$ref": "https://example.com/schema"}}},
        {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"properties": {"a": {}}, "if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"properties": {"a": {"not": {"const": "x"}}}},
        {"properties": {"a": {"properties": {"b": {"type": "object", "minProperties": 2}}}}},
        {"properties": {f"p{number}": {"description": "long words " * 20} for number in range(300)}},
    ],
)
def test_whatever_is_left_out_is_said_to_be_in_the_schema(schema: dict[str, Any]) -> None:
    answer = of_schema(schema)

    assert "get_schema" in answer["note"]
    assert count(compact(answer)) < 900


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {}, "additionalProperties": False},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"x": {"type": "string"}}},
        {"properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "X"}}},
        {"properties": {"x": {"properties": {"y": {"type": "string", "description": "Why"}}, "required": ["y"]}}},
    ],
)
def test_nothing_is_said_of_a_rest_where_there_is_none(schema: dict[str, Any]) -> None:
    assert "note" not in of_schema(schema)


def test_required_parameters_are_kept_however_many_there_are() -> None:
    names = [f"parameter_number_{number}" for number in range(120)]
    schema = {"properties": {name: {"type": "string"} for name in [*names, "optional"]}, "required": names}

    answer = of_schema(schema)

    assert [found["name"] for found in answer["parameters"]] == sorted(names)
    assert "note" in answer


def test_a_tool_that_destroys_says_so() -> None:
    assert render_details(details(effect="destructive"))["effect"] == "destructive"
    assert "effect" not in render_details(details(effect="write"))
