"""Parameters in plain lines, signatures in one line, and the server's own examples."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.model.view import Parameter
from toolcrib.schema import parameters as parameter_lists
from toolcrib.schema import signature as signatures
from toolcrib.schema.convert import convert
from toolcrib.schema.examples import examples

ISSUE = {
    "type": "object",
    "properties": {
        "owner": {"type": "string", "description": " Who owns it. "},
        "repo": {"type": "string", "title": "Repository"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "opts": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["a"],
        },
    },
    "required": ["repo", "owner"],
}
TREE = {
    "$defs": {"Node": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}},
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
}


def parameters(schema: dict[str, Any]) -> tuple[Parameter, ...]:
    return parameter_lists.parameters(convert(schema).type)


def is_nested(schema: dict[str, Any]) -> bool:
    return parameter_lists.is_nested(convert(schema).type)


def signature(name: str, schema: dict[str, Any], limit: int = signatures.SIGNATURE_CHARACTERS) -> str:
    return signatures.signature(name, convert(schema).type, limit)


def type_text(schema: dict[str, Any], limit: int = signatures.SIGNATURE_CHARACTERS) -> str:
    return signatures.short_type(convert(schema).type, limit)


def type_of(schema: Any) -> str:
    return parameters({"properties": {"x": schema}})[0].type


def test_required_parameters_come_first_and_each_group_is_alphabetical() -> None:
    assert parameters(ISSUE) == (
        Parameter("owner", "string", "Who owns it.", True),
        Parameter("repo", "string", "Repository", True),
        Parameter("labels", "string[]", "", False),
        Parameter("opts", "object", "", False),
        Parameter("state", '"open"|"closed"', "", False),
    )


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": []}, {"properties": None, "required": 3}])
def test_a_schema_without_properties_has_no_parameters(schema: dict[str, Any]) -> None:
    assert parameters(schema) == ()
    assert not is_nested(schema)
    assert signature("now", schema) == "now()"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "string"),
        (True, "string"),
        ({"description": "no type"}, "string"),
        ({"type": "integer"}, "integer"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"type": "string", "nullable": True}, "string|null"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]}, "string|integer"),
        ({"oneOf": [{"type": "boolean"}, {"type": "null"}]}, "boolean|null"),
        ({"const": "fixed"}, '"fixed"'),
        ({"enum": [1, 2, None]}, "1|2|null"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": ["string", "integer"]}}, "(string|integer)[]"),
        ({"items": {"type": "array", "items": {"type": "number"}}}, "number[][]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[string, integer]"),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, "object[]"),
        ({"properties": {"a": {"type": "string"}}}, "object"),
        ({"allOf": [{"type": "string"}]}, "string"),
        ({"type": "not a type\nname"}, "string"),
        ({"type": 5}, "string"),
        (False, "never"),
        ({"$ref": "#/nowhere"}, "string"),
        ({"$ref": "https://example.com/s"}, "string"),
        ({"$ref": "#/properties/x"}, "string"),
    ],
)
def test_types_read_short(schema: Any, expected: str) -> None:
    assert type_of(schema) == expected


def test_a_long_enum_is_cut_where_it_can_be_seen() -> None:
    text = type_of({"enum": [f"value-{number}" for number in range(50)]})
    assert text.startswith('"value-0"|"value-1"|')
    assert text.endswith("|…")
    assert len(text) < 420


def test_a_local_reference_gives_its_type_and_description() -> None:
    schema = {
        "$defs": {"State": {"enum": ["on", "off"], "description": "Which way."}},
        "properties": {"a": {"$ref": "#/$defs/State"}, "b": {"$ref": "#/$defs/State", "description": "Mine."}},
    }
    assert parameters(schema) == (
        Parameter("a", '"on"|"off"', "Which way.", False),
        Parameter("b", '"on"|"off"', "Mine.", False),
    )


def test_escaped_pointers_are_followed() -> None:
    schema = {"$defs": {"a/b~c d": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/a~1b~0c%20d"}}}
    assert parameters(schema)[0].type == "integer"


def test_properties_of_referenced_and_merged_parts_are_seen() -> None:
    schema = {
        "$defs": {"Base": {"properties": {"a": {"type": "string"}}, "required": ["a"]}},
        "allOf": [{"$ref": "#/$defs/Base"}],
        "properties": {"b": {"type": "integer"}},
    }
    assert signature("f", schema) == "f(a: string, b?: integer)"
    assert [parameter.name for parameter in parameters(schema)] == ["a", "b"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, False),
        ({"type": "object"}, False),
        ({"type": "array", "items": {"type": "string"}}, False),
        ({"type": "object", "properties": {"a": {}}}, True),
        ({"type": "array", "items": {"type": "object"}}, True),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "null"}]}, True),
    ],
)
def test_nested_means_that_a_flat_list_would_hide_the_form(schema: Any, expected: bool) -> None:
    assert is_nested({"properties": {"x": schema}}) is expected


def test_a_reference_to_an_object_is_nested() -> None:
    assert is_nested(TREE)


def test_a_signature_is_one_typed_line() -> None:
    assert signature("create_issue", ISSUE) == (
        'create_issue(owner: string, repo: string, labels?: string[], state?: "open"|"closed", '
        "opts?: {a: string, b?: integer})"
    )


def test_a_signature_quotes_odd_names_and_spells_out_maps() -> None:
    schema = {
        "properties": {
            "the key": {"type": "string"},
            "line\nbreak": {"type": "string"},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
        }
    }
    assert signature("f", schema) == 'f("the key"?: string, "line\\nbreak"?: string, env?: {[key]: string})'


def test_a_recursive_type_is_cut_where_it_returns_to_itself() -> None:
    assert signature("f", TREE) == "f(root?: {kids?: …[]})"


def test_a_long_signature_first_closes_its_objects_and_then_drops_the_last_parameters() -> None:
    whole = signature("create_issue", ISSUE)
    closed = signature("create_issue", ISSUE, limit=len(whole) - 1)
    assert closed.endswith("opts?: {…})")
    short = signature("create_issue", ISSUE, limit=60)
    assert short == "create_issue(owner: string, repo: string, …)"
    assert len(short) <= 60
    assert signature("n" * 100, ISSUE, limit=20).endswith("…")


def test_the_type_of_a_whole_schema_is_spelled_out_within_its_limit() -> None:
    assert type_text({"type": "object", "properties": {"id": {"type": "integer"}}}) == "{id?: integer}"
    assert type_text(ISSUE, limit=10) == "{…}"
    assert type_text({"enum": ["a" * 30, "b" * 30]}, limit=20).endswith("…")


def test_a_wide_or_deep_schema_is_bounded() -> None:
    deep: dict[str, Any] = reduce(lambda inner, _: {"type": "array", "items": inner}, range(3_000), {"type": "string"})
    wide = {"properties": {f"p{n}": {"$ref": "#/$defs/a"} for n in range(2_000)}}
    heavy = {"type": "object", "allOf": [{}] * 5_000}
    for schema in ({"properties": {"x": deep}}, {**wide, "$defs": {"a": heavy}}):
        assert len(signature("f", schema)) <= 600
        assert parameters(schema)
        assert is_nested(schema) in (True, False)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ({}, ()),
        ({"inputSchema": {"examples": [{"a": 1}, {"a": 2}]}}, ({"a": 1}, {"a": 2})),
        ({"_meta": {"examples": [{"a": 1}]}}, ({"a": 1},)),
        ({"annotations": {"examples": [{"a": 1}]}}, ({"a": 1},)),
        ({"inputSchema": {"examples": [{"a": 1}]}, "_meta": {"examples": [{"a": 1}, {"b": 2}]}}, ({"a": 1}, {"b": 2})),
        ({"inputSchema": {"examples": ["text", 3, None, {}]}}, ()),
        ({"inputSchema": {"examples": {"a": 1}}, "_meta": [], "annotations": None}, ()),
        ({"inputSchema": {"properties": {"a": {"examples": [{"x": 1}]}}}}, ({"a": {"x": 1}},)),
    ],
)
def test_only_examples_the_server_gave_are_shown(definition: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert examples(definition) == expected


def test_many_examples_are_cut() -> None:
    assert len(examples({"inputSchema": {"examples": [{"n": n} for n in range(100)]}})) == 5


keywords = st.sampled_from(
    "type properties required enum const items prefixItems anyOf oneOf allOf $ref $defs additionalProperties "
    "description title nullable examples a b".split()
)
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=5),
    st.sampled_from(["#", "#/$defs/a", "#/properties/a", "#/properties/b/items", "string", "object", "array"]),
)
any_schemas = st.dictionaries(
    keywords,
    st.recursive(
        junk,
        lambda inner: st.one_of(st.dictionaries(keywords, inner, max_size=4), st.lists(inner, max_size=3)),
        max_leaves=20,
    ),
    max_size=5,
)


@given(any_schemas, st.integers(10, 300))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_schema_makes_a_description_fail_or_run_over(schema: dict[str, Any], limit: int) -> None:
    line = signature("tool", schema, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert len(type_text(schema, limit)) <= limit
    assert all(isinstance(parameter, Parameter) for parameter in parameters(schema))
    assert is_nested(schema) in (True, False)
    assert all(isinstance(example, dict) for example in examples({"inputSchema": schema}))
