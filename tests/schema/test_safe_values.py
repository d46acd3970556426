from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.schema.examples import examples, made_up_example
from toolcrib.schema.safe_values import plausible_arguments, safe_arguments
from toolcrib.schema.validate import ArgumentChecker


def required(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, ""),
        ({"type": "string", "enum": ["open", "closed"], "default": "closed"}, "open"),
        ({"const": 7}, 7),
        ({"type": "string", "default": "main"}, "main"),
        ({"type": "string", "examples": ["v1"]}, "v1"),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 1}, 1),
        ({"type": "integer", "minimum": 1.5}, 2),
        ({"type": "number", "minimum": 0.5}, 0.5),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "integer", "minimum": 10**400}, 0),
        ({"type": "number", "exclusiveMinimum": 10**400, "maximum": -(10**400)}, 0),
        ({"type": "integer", "minimum": 2**63}, 2**63),
        ({"type": "number", "minimum": float("inf")}, 0),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        ({"type": "object"}, {}),
        (required(deep=required(name={"type": "string"})), {"deep": {"name": ""}}),
        ({"type": ["null", "integer"]}, 0),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, False),
        ({"type": "null"}, None),
        ({}, ""),
        (True, ""),
    ],
)
def test_a_required_parameter_gets_the_least_its_schema_allows(schema: Any, value: Any) -> None:
    assert safe_arguments(required(it=schema)) == {"it": value}


def test_what_is_not_required_is_left_out() -> None:
    assert safe_arguments({"type": "object", "properties": {"a": {"type": "string"}}}) == {}


def test_references_are_followed_and_circles_end() -> None:
    schema = required(tree={"$ref": "#/$defs/tree"})
    schema["$defs"] = {"tree": required(left={"$ref": "#/$defs/tree"}, right={"$ref": "#/$defs/tree"})}

    assert set(safe_arguments(schema)["tree"]) == {"left", "right"}


def test_very_many_parts_are_not_made() -> None:
    schema = required(tree={"$ref": "#/$defs/tree"})
    inner = {f"part{number}": {"$ref": "#/$defs/tree"} for number in range(10)}
    schema["$defs"] = {
        "tree": required(**inner, rows={"type": "array", "minItems": 10**9, "items": {"type": "string"}})
    }

    assert len(str(safe_arguments(schema))) < 100_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("owner", "octocat"),
        ("userName", "octocat"),
        ("repo", "hello-world"),
        ("commit_sha", "0" * 40),
        ("user_email", "example@example.com"),
        ("imageUrl", "https://example.com"),
        ("title", "example"),
        ("label", "example"),
        ("file_path", "README.md"),
        ("q", "example"),
    ],
)
def test_a_second_try_has_plausible_values_told_from_the_names(name: str, value: str) -> None:
    assert plausible_arguments(required(**{name: {"type": "string"}})) == {name: value}


def test_a_plausible_value_keeps_to_the_format_and_the_length() -> None:
    schema = required(day={"type": "string", "format": "date"}, name={"type": "string", "maxLength": 2})

    assert plausible_arguments(schema) == {"day": "2024-01-01", "name": "ex"}


def test_what_a_person_gave_wins() -> None:
    schema = required(owner={"type": "string"}, n={"type": "integer"})

    assert safe_arguments(schema, {"owner": "me", "page": 2}) == {"owner": "me", "n": 0, "page": 2}


_SCALARS = st.sampled_from(
    [
        {"type": "string", "minLength": 2},
        {"type": "string", "maxLength": 1},
        {"type": "integer", "minimum": 3},
        {"type": "number", "exclusiveMinimum": 0.5},
        {"type": "boolean"},
        {"enum": ["a", None]},
        {"type": ["null", "string"]},
    ]
)
_SCHEMAS = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda parts: required(**parts), st.dictionaries(st.sampled_from(["owner", "a", "url"]), inner)),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
    ),
    max_leaves=8,
)


@given(_SCHEMAS)
def test_what_is_made_up_fits_the_schema_it_was_made_from(schema: dict[str, Any]) -> None:
    whole = required(it=schema)

    assert ArgumentChecker().check(whole, safe_arguments(whole)).problems == ()
    assert ArgumentChecker().check(whole, plausible_arguments(whole)).problems == ()


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["type", "properties", "required", "items", "enum", "$ref", "anyOf", "minItems", "minimum", "a"]), x), max_leaves=20))  # fmt: skip
def test_no_schema_however_odd_is_too_much(schema: Any) -> None:
    assert isinstance(safe_arguments({"type": "object", "properties": {"a": schema}, "required": ["a"]}), dict)


# -- examples


def test_an_example_is_put_together_from_those_of_the_parameters() -> None:
    schema = required(city={"type": "string", "examples": ["Paris"]}, unit={"enum": ["C", "F"]})

    assert examples({"name": "t", "inputSchema": schema}) == ({"city": "Paris", "unit": "C"},)


def test_no_example_is_given_where_the_server_left_a_required_one_open() -> None:
    schema = required(city={"type": "string", "examples": ["Paris"]}, day={"type": "string"})

    assert examples({"name": "t", "inputSchema": schema}) == ()


def test_an_example_put_together_is_short_or_not_there() -> None:
    schema = required(text={"type": "string", "examples": ["x" * 300]})

    assert examples({"name": "t", "inputSchema": schema}) == ()


def test_whole_examples_of_the_server_come_first() -> None:
    schema = {**required(city={"type": "string", "examples": ["Paris"]}), "examples": [{"city": "Rome"}]}

    assert examples({"name": "t", "inputSchema": schema}) == ({"city": "Rome"},)


def test_an_example_can_be_made_up_and_is_empty_where_nothing_is_required() -> None:
    assert made_up_example({"inputSchema": required(owner={"type": "string"})}) == {"owner": "octocat"}
    assert made_up_example({"name": "t"}) == {}
