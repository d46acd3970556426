"""JSON Schemas to types, by the published table and beyond it, and back again."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.rtfs.type_samples import types
from toolcrib.rtfs.published_form import published_form
from toolcrib.rtfs.read_type import parse_type
from toolcrib.rtfs.types import ANY, TypeExpr
from toolcrib.rtfs.write_type import rtfs_text
from toolcrib.schema.convert import convert
from toolcrib.schema.json_schema import json_schema
from toolcrib.schema.signature import short_type, signature

LIST_ISSUES = {
    "type": "object",
    "properties": {
        "owner": {"type": "string"},
        "repo": {"type": "string"},
        "state": {"type": "string", "enum": ["open", "closed", "all"]},
    },
    "required": ["owner", "repo"],
}


def exact(schema: Any) -> str:
    return rtfs_text(convert(schema).type)


def as_published(schema: Any) -> str:
    return rtfs_text(published_form(convert(schema).type))


def test_the_worked_example_comes_out_exactly() -> None:
    assert rtfs_text(published_form(convert(LIST_ISSUES).type), indent=0) == (
        "[:map\n  [:owner :string]\n  [:repo :string]\n  [:state {:optional true} :string]]"
    )
    assert convert(LIST_ISSUES).warnings == ()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, ":string"),
        ({"type": "integer"}, ":int"),
        ({"type": "integer", "format": "int64"}, ":int"),
        ({"type": "number"}, ":float"),
        ({"type": "boolean"}, ":bool"),
        ({"type": "array"}, "[:vector :any]"),
        ({"type": "array", "items": {"type": "integer"}}, "[:vector :int]"),
        ({"type": "object"}, "[:map]"),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, "[:map [:a {:optional true} :bool]]"),
        ({"type": "null"}, ":any"),
        ({"type": "string", "nullable": True}, "[:union :string :nil]"),
        ({"enum": ["a", "b"]}, ":string"),
        ({"type": "integer", "enum": [1, 2]}, ":int"),
        ({"type": "number", "enum": [1, 2]}, ":float"),
        ({"enum": [1, 2.5]}, ":float"),
        ({"enum": ["a", None]}, "[:union :string :nil]"),
    ],
)
def test_each_kind_of_schema_has_its_published_type(schema: Any, expected: str) -> None:
    assert as_published(schema) == expected


@pytest.mark.parametrize(
    ("schema", "published", "whole"),
    [
        (True, ":any", ":any"),
        (False, ":never", ":never"),
        ({}, ":any", ":any"),
        ({"not": {}}, ":never", ":never"),
        ({"const": "x"}, ":string", '[:val "x"]'),
        ({"const": None}, ":any", "[:val nil]"),
        ({"enum": ["a", "b", "a"]}, ":string", '[:enum "a" "b"]'),
        ({"enum": [1, True, 1.0]}, "[:union :bool :float]", "[:enum 1 true 1.0]"),
        ({"type": ["string", "null"]}, "[:union :string :nil]", "[:union :string :nil]"),
        ({"type": ["null", "string", "integer"]}, "[:union :string :int :nil]", "[:union :string :int :nil]"),
        ({"anyOf": [{"type": "string"}]}, ":string", ":string"),
        ({"anyOf": [{"type": "null"}, {"type": "string"}, {"type": "string"}]}, None, "[:union :string :nil]"),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, ":string", '[:union [:val "a"] [:val "b"]]'),
        ({"type": "integer", "minimum": 1, "maximum": 9}, ":int", "[:and :int [:>= 1] [:<= 9]]"),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, ":float", "[:and :float [:> 0]]"),
        ({"type": "number", "exclusiveMaximum": 2.5}, ":float", "[:and :float [:< 2.5]]"),
        (
            {"type": "string", "minLength": 1, "pattern": '^"\\d$'},
            ":string",
            '[:and :string [:min-length 1] [:matches-regex "^\\"\\\\d$"]]',
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            "[:vector :string]",
            "[:and [:vector :string] [:min-count 1] [:max-count 3]]",
        ),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, None, "[:tuple :string :int]"),
        ({"type": "array", "items": [{"type": "string"}, {}]}, None, "[:tuple :string :any]"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            None,
            "[:vector [:union :string :int]]",
        ),
        ({"items": {"type": "string"}}, None, "[:vector :string]"),
        ({"properties": {"a": {"type": "string"}}}, None, "[:map [:a {:optional true} :string]]"),
        (
            {"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
            "[:map [:a {:optional true} :string]]",
            "[:map [:a [:union :string :nil]]]",
        ),
        (
            {"properties": {"a": {"type": "null"}}, "required": ["a"]},
            "[:map [:a {:optional true} :any]]",
            "[:map [:a :nil]]",
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, None, "[:map-of :string :int]"),
        ({"type": "object", "additionalProperties": True}, None, "[:map]"),
        ({"type": "object", "additionalProperties": False}, "[:map]", "[:map [:* :never]]"),
        (
            {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
            None,
            "[:map [:a {:optional true} :any] [:* :int]]",
        ),
        ({"patternProperties": {"^x-": {"type": "string"}}}, None, "[:map-of :string :string]"),
        ({"properties": {"the key": {}, "*": {}, "1": {}}}, None, None),
        ({"type": "any"}, ":any", ":any"),
    ],
)
def test_what_real_schemas_hold_has_its_type(schema: Any, published: str | None, whole: str | None) -> None:
    assert published is None or as_published(schema) == published
    assert whole is None or exact(schema) == whole
    assert convert(schema).warnings == ()


@pytest.mark.parametrize(
    ("whole", "published"),
    [
        ('[:array [:enum "a"] [2]]', "[:array :string [2]]"),
        ("[:fn [[:val 1] & :nil] [:and :int [:> 0]]]", "[:fn [:int & :any] :int]"),
        ("[:map-of [:enum :a] :nil]", "[:map-of :keyword :any]"),
        ("[:map [:a [:enum nil]] [:* [:val true]]]", "[:map [:a {:optional true} :any] [:* :bool]]"),
    ],
)
def test_the_published_form_reaches_into_every_type(whole: str, published: str) -> None:
    assert rtfs_text(published_form(parse_type(whole))) == published


def test_parts_of_all_of_are_one_object() -> None:
    schema = {
        "$defs": {"Base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
        "allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"name": {"type": "string"}}}],
        "properties": {"more": {"type": "boolean"}},
        "required": ["more"],
    }
    assert exact(schema) == "[:map [:id :int] [:name {:optional true} :string] [:more :bool]]"
    assert as_published({"allOf": [{}, {"description": "x"}, {"type": "string"}, {"type": "integer"}]}) == ":string"


def test_alternatives_are_joined_with_what_stands_beside_them() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
        "oneOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "string"}}},
        ],
    }
    assert exact(schema) == ("[:union [:map [:id :int] [:a :string]] [:map [:id :int] [:b {:optional true} :string]]]")
    assert signature("f", convert(schema).type) == "f(id: integer, a?: string, b?: string)"


def test_alternatives_that_only_say_what_is_required_leave_the_object_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    }
    assert exact(schema) == "[:map [:id {:optional true} :int] [:name {:optional true} :string]]"


def test_references_are_followed_and_come_to_an_end() -> None:
    tree = {
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"value": {"$ref": "#/definitions/V"}, "next": {"$ref": "#/$defs/Node"}},
            }
        },
        "definitions": {"V": {"type": "string"}},
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}, "self": {"$ref": "#"}},
    }
    found = convert(tree)
    assert rtfs_text(found.type) == (
        "[:map [:root {:optional true} [:map [:value {:optional true} :string] [:next {:optional true} :any]]] "
        "[:self {:optional true} :any]]"
    )
    assert found.warnings == ("/properties/root/properties/next refers to itself", "/properties/self refers to itself")


def test_a_recursion_through_all_of_comes_to_an_end() -> None:
    schema = {
        "$defs": {"N": {"properties": {name: {"allOf": [{"$ref": "#/$defs/N"}]} for name in "abc"}}},
        "$ref": "#/$defs/N",
    }
    assert exact(schema) == "[:map [:a {:optional true} :any] [:b {:optional true} :any] [:c {:optional true} :any]]"


@pytest.mark.parametrize(
    ("schema", "warning"),
    [
        (None, "the schema is not a schema"),
        ("string", "the schema is not a schema"),
        ([], "the schema is not a schema"),
        ({"type": "file"}, "the schema has the unknown type 'file'"),
        ({"$ref": "#/nowhere"}, "the schema refers to '#/nowhere', which is not in it"),
        ({"$ref": "https://x.test/s"}, "the schema refers to 'https://x.test/s', which is not in it"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
            "the schema refers to '#/$defs/a', which is not in it",
        ),
        ({"enum": []}, "the schema lists values that no type can hold"),
        ({"enum": [{"a": 1}]}, "the schema lists values that no type can hold"),
        ({"enum": [10**500]}, "the schema lists values that no type can hold"),
        ({"const": float("inf")}, "the schema lists values that no type can hold"),
    ],
)
def test_what_cannot_be_read_is_any_with_a_warning(schema: Any, warning: str) -> None:
    found = convert(schema)
    assert found.type == ANY
    assert found.warnings == (warning,)


def test_one_bad_property_costs_only_itself() -> None:
    found = convert({"properties": {"a": {"type": "string"}, "b": "oops", "c": {"type": "nope"}}})
    assert rtfs_text(found.type) == (
        "[:map [:a {:optional true} :string] [:b {:optional true} :any] [:c {:optional true} :any]]"
    )
    assert found.warnings == ("/properties/b is not a schema", "/properties/c has the unknown type 'nope'")


def test_even_a_schema_that_raises_is_any_with_a_warning() -> None:
    class Trap(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            raise RuntimeError(key)

    assert convert(Trap(a=1)).warnings == ("the schema cannot be read (RuntimeError)",)


def _laughs() -> dict[str, Any]:
    levels = {
        f"d{level}": {"properties": {name: {"$ref": f"#/$defs/d{level + 1}"} for name in "abcdefghij"}}
        for level in range(40)
    }
    return {"$defs": levels, "$ref": "#/$defs/d0"}


def _wide_parts() -> dict[str, Any]:
    big = {"properties": {f"p{number}": {"type": "string"} for number in range(3_000)}}
    return {
        "$defs": {"b": big},
        "properties": {f"q{number}": {"allOf": [{"$ref": "#/$defs/b"}] * 32} for number in range(500)},
    }


def _nested_alternatives(levels: int) -> dict[str, Any]:
    alternatives = [{"properties": {f"k{number}": {}}} for number in range(20)]
    return reduce(
        lambda inner, _: {"type": "object", "properties": {"p": inner}, "anyOf": alternatives},
        range(levels),
        {"type": "string"},
    )


@pytest.mark.parametrize(
    "schema",
    [
        _laughs(),
        _wide_parts(),
        _nested_alternatives(12),
        reduce(lambda inner, _: {"type": "array", "items": inner}, range(3_000), {"type": "string"}),
        {"properties": {f"q{number}": {"enum": list(range(900))} for number in range(200)}},
        {"properties": {f"q{number}": {"$ref": "#/" + "a/" * 250} for number in range(2_000)}},
        {"anyOf": [{"const": number} for number in range(5_000)]},
    ],
)
@pytest.mark.timeout(20)
def test_a_hostile_schema_is_cut_and_what_is_left_still_round_trips(schema: Any) -> None:
    found = convert(schema)
    assert found.warnings
    assert len(found.warnings) <= 10
    assert all(len(warning) < 250 for warning in found.warnings)
    assert parse_type(rtfs_text(found.type)) == found.type
    assert len(signature("f", found.type)) <= 600


@pytest.mark.parametrize(
    ("text", "schema", "warnings"),
    [
        (":any", {}, ()),
        (":never", {"not": {}}, ()),
        (":string?", {"type": ["string", "null"]}, ()),
        ("[:map-of :string :int]", {"type": "object", "additionalProperties": {"type": "integer"}}, ()),
        (
            "[:map [:a :int] [:b {:optional true} [:vector :float]] [:* :never]]",
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "number"}}},
                "required": ["a"],
                "additionalProperties": False,
            },
            (),
        ),
        (
            "[:tuple :int :string]",
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
            },
            (),
        ),
        (
            "[:union [:map-of :string :int] :int]",
            {"anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "integer"}]},
            (),
        ),
        ('[:enum "a" 1 nil]', {"enum": ["a", 1, None]}, ()),
        ("[:and :int [:>= 1] [:< 9]]", {"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, ()),
        ("[:and :int [:in-range 1 9]]", {"type": "integer", "minimum": 1, "maximum": 9}, ()),
        (
            "[:and :string [:length 3] [:!= :x]]",
            {"type": "string", "minLength": 3, "maxLength": 3, "not": {"const": "x"}},
            (),
        ),
        (
            "[:and :int [:> 1] [:> 2]]",
            {"allOf": [{"type": "integer"}, {"exclusiveMinimum": 1}, {"exclusiveMinimum": 2}]},
            (),
        ),
        ("[:and [:vector :int] [:count 2] [:= 1]]", None, ()),
        (
            "[:array :int [2 ?]]",
            {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "minItems": 2, "maxItems": 2},
            (),
        ),
        ("[:array :int]", {"type": "array", "items": {"type": "integer"}}, ()),
        (":keyword", {"type": "string"}, (":keyword is written as a string",)),
        (":timestamp", {"type": "string", "format": "date-time"}, (":timestamp is written as a string",)),
        (
            "[:map [:id :uuid]]",
            {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}}, "required": ["id"]},
            (":uuid is written as a string",),
        ),
        ("[:enum :a]", {"enum": ["a"]}, ("values that are a keyword are written as strings",)),
        ("[:enum ##Inf 1]", {"enum": [1]}, ("JSON has no infinite numbers",)),
        ("[:val ##NaN]", {}, ("JSON has no infinite numbers",)),
        ("[:map-of :int :int]", None, ("keys of an object are always strings",)),
        ("[:and :string [is-email]]", {"type": "string"}, ("the condition :is-email is left out",)),
        ("[:and :float [:> ##NaN]]", {"type": "number"}, ("the condition :> is left out",)),
        ("[:fn [:int] :int]", {}, ("a function is written as anything",)),
        (":Issue", {}, ("the type Issue is written as anything",)),
        ("[:resource File]", {}, ("the type File is written as anything",)),
    ],
)
def test_a_type_becomes_a_schema_and_what_that_cannot_say_is_noted(
    text: str, schema: Any, warnings: tuple[str, ...]
) -> None:
    found = json_schema(parse_type(text))
    assert schema is None or found.schema == schema
    assert found.warnings == warnings


@given(types)
def test_every_type_becomes_json_and_a_short_line(type: TypeExpr) -> None:
    json.dumps(json_schema(type).schema, allow_nan=False)
    assert len(short_type(type, 50)) <= 50
    assert "\n" not in signature("f", type)


keywords = st.sampled_from(
    "type properties required enum const items prefixItems anyOf oneOf allOf $ref $defs additionalProperties "
    "patternProperties minimum exclusiveMinimum maxLength pattern minItems not nullable a b".split()
)
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        ["#", "#/$defs/a", "#/properties/a", "#/anyOf/0", "string", "object", "array", "integer", "number", "null"]
    ),
)
any_schemas = st.recursive(
    junk,
    lambda inner: st.one_of(st.dictionaries(keywords, inner, max_size=5), st.lists(inner, max_size=3)),
    max_leaves=30,
)


@example({"additionalProperties": {"const": None}})
@example({"properties": {"a": {}}, "additionalProperties": {"const": None}})
@given(any_schemas)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300)
def test_no_schema_makes_the_converter_fail_and_every_way_back_leads_to_the_same_type(schema: Any) -> None:
    found = convert(schema).type
    published = published_form(found)
    assert "RuntimeError" not in str(convert(schema).warnings)
    assert parse_type(rtfs_text(published)) == parse_type(rtfs_text(published_form(published)))
    assert rtfs_text(parse_type(rtfs_text(found))) == rtfs_text(found)
    assert convert(json_schema(found).schema).type == found
    assert published_form(convert(json_schema(published).schema).type) == published
