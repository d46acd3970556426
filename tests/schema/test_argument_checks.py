"""Arguments against schemas: what is refused and how it is said, and that nothing can hang the check."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from functools import reduce
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.schema.flat import compile_flat
from toolcrib.schema.validate import MAX_REMEMBERED, ArgumentChecker
from toolcrib.schema.verdict import Verdict

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
ISSUE = {
    "type": "object",
    "properties": {
        "owner": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "body": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["owner"],
    "additionalProperties": False,
}


def check(schema: Any, arguments: Any) -> Verdict:
    return ArgumentChecker().check(schema, arguments)


def said(schema: Any, arguments: Any) -> list[str]:
    verdict = check(schema, arguments)
    assert not verdict.not_checked
    return [str(problem) for problem in verdict.problems]


def of(subschema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": subschema}}


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_missing_or_empty_schema_accepts_any_object(schema: Any) -> None:
    assert check(schema, {"anything": [1, {"goes": None}]}) == Verdict()


@pytest.mark.parametrize(("arguments", "found"), [([], "array"), ("{}", "string"), (None, "null"), (3, "integer")])
def test_arguments_that_are_no_object_are_refused(arguments: Any, found: str) -> None:
    assert said(None, arguments) == [f"expected an object, found {found}"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"owner": "me"}, []),
        ({"owner": "me", "labels": ["a"], "state": "open", "count": 5, "body": None}, []),
        ({}, ["owner: required, but missing"]),
        ({"owner": 5}, ["owner: expected string, found integer"]),
        ({"owner": "me", "labels": ["a", None]}, ["labels[1]: expected string, found null"]),
        ({"owner": "me", "state": "opne"}, ['state: must be one of "open", "closed"']),
        ({"owner": "me", "count": 0}, ["count: must be at least 1"]),
        ({"owner": "me", "count": 9}, ["count: must be at most 5"]),
        ({"owner": "me", "count": True}, ["count: expected integer, found boolean"]),
        ({"owner": "me", "body": 7}, ["body: expected string or null, found integer"]),
        ({"owner": "me", "lables": []}, ['lables: unexpected; did you mean "labels"?']),
        (
            {"owner": "me", "xyz": 1},
            ['xyz: unexpected; known are "owner", "labels", "state", "count", "body"'],
        ),
    ],
)
def test_a_problem_names_the_field_and_says_why(arguments: dict[str, Any], expected: list[str]) -> None:
    assert said(ISSUE, arguments) == expected


@pytest.mark.parametrize(
    ("subschema", "value", "reason"),
    [
        ({"type": ["string", "null"]}, 1, "expected string or null, found integer"),
        ({"const": "x"}, "y", 'must be "x"'),
        ({"exclusiveMinimum": 1}, 1, "must be more than 1"),
        ({"exclusiveMaximum": 1}, 1, "must be less than 1"),
        ({"multipleOf": 5}, 7, "must be a multiple of 5"),
        ({"minLength": 2}, "x", "must have at least 2 characters"),
        ({"maxLength": 2}, "xyz", "must have at most 2 characters"),
        ({"minItems": 1}, [], "must have at least 1 items"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 items"),
        ({"minProperties": 1}, {}, "must have at least 1 properties"),
        ({"maxProperties": 0}, {"x": 1}, "must have at most 0 properties"),
        ({"pattern": "^x+$"}, "y", 'must match the pattern "^x+$"'),
        ({"uniqueItems": True}, [1, {"x": 1}, {"x": 1.0}], "items must not repeat"),
        ({"not": {"type": "string"}}, "x", "has a form that is not allowed"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 2, "fits more than one of the allowed forms"),
        ({"anyOf": [{"minimum": 5}, {"maximum": 1}]}, 3, "fits none of the 2 allowed forms"),
        ({"dependentRequired": {"x": ["y", "z"]}}, {"x": 1, "z": 2}, 'lacks "y"'),
        ({"contains": {"type": "string"}}, [1], "does not fit contains"),
    ],
)
def test_every_keyword_has_its_words(subschema: Any, value: Any, reason: str) -> None:
    assert said(of(subschema), {"a": value}) == [f"a: {reason}"]


def test_a_property_that_is_never_allowed_is_refused() -> None:
    assert said(of(False), {"a": 1}) == ["holds something that is not allowed"]


def test_the_nearest_of_several_forms_is_explained() -> None:
    schema = of(
        {"anyOf": [{"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}, {"type": "null"}]}
    )
    assert said(schema, {"a": {"j": 1}}) == ["a.k: required, but missing"]


def test_odd_names_are_quoted_and_cut_in_the_path() -> None:
    schema = {"additionalProperties": {"type": "string"}}
    assert said(schema, {"the key": 1}) == ['["the key"]: expected string, found integer']
    assert len(said(schema, {"k" * 500: 1})[0]) < 100


def test_long_lists_of_values_are_cut() -> None:
    message = said(of({"enum": [f"value-{number}" for number in range(50)]}), {"a": "x"})[0]
    assert message.endswith("and 42 more")
    assert len(message) < 200


def test_at_most_five_problems_are_told() -> None:
    assert len(said({"required": [f"p{number}" for number in range(50)]}, {})) == 5


def test_values_of_arguments_are_never_repeated() -> None:
    secret = "hunter2-" * 10
    schemas: list[dict[str, Any]] = [
        {"type": "integer"},
        {"enum": ["a"]},
        {"const": "a"},
        {"maxLength": 3},
        {"pattern": "^a$"},
        {"anyOf": [{"type": "integer"}, {"maxLength": 1}]},
        {"not": {}},
    ]
    for schema in schemas:
        for value in (secret, "hunter2-"):
            assert "hunter2" not in "".join(said(of(schema), {"a": value}))


def test_the_dialect_follows_the_schema_and_is_2020_12_by_default() -> None:
    assert said({"$schema": DRAFT_4, **of({"minimum": 1, "exclusiveMinimum": True})}, {"a": 1})
    assert not said({"$schema": DRAFT_4, **of({"prefixItems": [{"type": "string"}]})}, {"a": [1]})
    assert said(of({"prefixItems": [{"type": "string"}]}), {"a": [1]})
    assert said({"$schema": "urn:my-own", **of({"prefixItems": [{"type": "string"}]})}, {"a": [1]})
    assert said({"$schema": "http://json-schema.org/draft-03/schema#", **of({"required": True})}, {})


def test_patterns_decide_which_properties_are_additional() -> None:
    schema = {"patternProperties": {"^x_": {"type": "string"}}, "properties": {"a": {}}, "additionalProperties": False}
    assert not said(schema, {"a": 1, "x_b": "text"})
    assert said(schema, {"x_b": 1}) == ["x_b: expected string, found integer"]
    assert said(schema, {"b": 1, "x_b": "text"}) == ['b: unexpected; known are "a"']


def test_local_references_are_followed() -> None:
    schema = {
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}
        }
    }
    whole = {**schema, **of({"$ref": "#/$defs/node"})}
    assert said(whole, {"a": {"next": {"next": {"v": "x"}}}}) == ["a.next.next.v: expected integer, found string"]


def fan_out(keyword: str) -> dict[str, Any]:
    levels = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n - 1}"}] * 10} for n in range(1, 11)}
    return {"$defs": {"d0": {"type": "object"}, **levels}, "$ref": "#/$defs/d10"}


HOSTILE = {
    "a schema that is itself": ({"$ref": "#"}, {}),
    "two that are each other": (
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {},
    ),
    "a remote reference": ({"$ref": "https://example.com/schema.json"}, {}),
    "a remote reference far inside": (of({"items": {"allOf": [{"$ref": "file:///etc/passwd"}]}}), {"a": [1]}),
    "a reference to nowhere": ({"$ref": "#/$defs/nowhere"}, {}),
    "a reference to another document's meta-schema": (
        of({"$ref": "http://json-schema.org/draft-07/schema#"}),
        {"a": 1},
    ),
    "ten levels of allOf": (fan_out("allOf"), {}),
    "ten levels of anyOf": ({**fan_out("anyOf"), "$defs": {**fan_out("anyOf")["$defs"], "d0": {"type": "string"}}}, {}),
    "a dialect switched inside": (of({"$schema": DRAFT_4, "type": "string"}), {"a": 1}),
    "a catastrophic pattern": (of({"pattern": "^(a|aa)+$"}), {"a": "a" * 50_000 + "!"}),
    "the textbook pattern": (of({"pattern": "(a+)+$"}), {"a": "a" * 50_000 + "!"}),
    "a catastrophic property pattern": (
        {"patternProperties": {"^(a|aa)+$": {}}, "additionalProperties": False},
        {"a" * 5_000 + "!": 1},
    ),
    "a pattern that unrolls without end": (of({"pattern": "(?:(?:a{1000}){1000}){1000}"}), {"a": "x"}),
    "a pattern that cannot be read": (of({"pattern": "("}), {"a": "x"}),
    "an endless pattern": (of({"pattern": "a" * 5_000}), {"a": "x"}),
    "patterns the library would run unbounded": (
        {"patternProperties": {"^(a|aa)+$": {}}, "allOf": [{"unevaluatedProperties": False}]},
        {"a" * 5_000 + "!": 1},
    ),
    "unique items that cannot be sorted": (of({"uniqueItems": True}), {"a": [{"n": n} for n in range(60_000)]}),
    "unevaluated items by the thousand": (of({"prefixItems": [{}], "unevaluatedItems": False}), {"a": [1] * 20_000}),
    "errors that each print a large value": (of({"anyOf": [{"type": "string"}] * 500}), {"a": ["x" * 1_000] * 1_000}),
    "a huge schema": (of({"enum": list(range(30_000))}), {"a": -1}),
    "a schema nested too deep": (of(reduce(lambda s, _: {"not": s}, range(80), {})), {"a": 1}),
    "required is no list": ({"required": "name"}, {}),
    "enum is no list": (of({"enum": "abc"}), {"a": 1}),
    "anyOf is empty": (of({"anyOf": []}), {"a": 1}),
    "an unknown type": (of({"type": "strng"}), {"a": 1}),
    "properties is a list": ({"properties": ["a"]}, {"a": 1}),
    "dependentRequired is no list": ({"dependentRequired": {"a": "bc"}}, {"a": 1}),
    "additionalProperties is null": ({"properties": {}, "additionalProperties": None}, {"a": 1}),
    "a division by zero": (of({"multipleOf": 0}), {"a": 1}),
    "an id that is no text": ({"$schema": DRAFT_4, "id": 5, "required": ["x"]}, {}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_schema_that_cannot_be_used_lets_the_server_decide(case: str) -> None:
    schema, arguments = HOSTILE[case]
    verdict = check(schema, arguments)
    assert verdict.problems == ()
    assert verdict.not_checked


def test_the_step_budget_is_what_ends_a_fan_out() -> None:
    schema = of({"allOf": [{"minimum": 0}] * 50})
    assert ArgumentChecker(max_steps=200).check(schema, {"a": 1}) == Verdict()
    assert "too many steps" in ArgumentChecker(max_steps=20).check(schema, {"a": 1}).not_checked


def test_all_patterns_of_one_check_share_one_allowance_of_time() -> None:
    ticks = itertools.count()
    checker = ArgumentChecker(now=lambda: next(ticks) * 0.03)
    schema = of({"items": {"pattern": "x"}})
    assert checker.check(schema, {"a": ["x"] * 3}) == Verdict()
    assert "too long" in checker.check(schema, {"a": ["x"] * 10}).not_checked


def test_what_is_compiled_is_remembered_and_bounded() -> None:
    checker = ArgumentChecker()
    schemas = [of({"minimum": number}) for number in range(MAX_REMEMBERED + 50)]
    for schema in schemas:
        assert checker.check(schema, {"a": MAX_REMEMBERED * 2}) == Verdict()
    assert len(checker._remembered) == MAX_REMEMBERED
    assert checker.check(schemas[0], {"a": -1}).problems


def test_any_mapping_serves_as_arguments() -> None:
    assert check(ISSUE, OrderedDict(owner="me")) == Verdict()


names = st.sampled_from(["a", "b", "c"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.0]), st.sampled_from(["", "a", "open"])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def simple(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(types, st.lists(types, min_size=1, max_size=2, unique=True)),
            "description": st.just("text"),
            "enum": st.lists(st.sampled_from(["a", "open", "closed"]), min_size=1, unique=True),
            "minimum": st.integers(-2, 2),
            "maximum": st.integers(-2, 2),
            "minLength": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "items": inner,
            "properties": st.dictionaries(names, inner, max_size=3),
            "required": st.lists(names, max_size=2, unique=True),
            "additionalProperties": st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    )


simple_schemas = simple(simple(simple(st.fixed_dictionaries({"type": types}))))
rich_schemas = st.recursive(
    simple(st.just({})),
    lambda inner: st.one_of(
        simple(inner),
        st.builds(lambda key, value: {key: value}, st.sampled_from(["not", "contains", "propertyNames", "if"]), inner),
        st.builds(
            lambda key, value: {key: value},
            st.sampled_from(["oneOf", "allOf", "prefixItems"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda value: {"patternProperties": {"^[ab]": value}, "additionalProperties": False}, inner),
        st.builds(lambda unique, value: {"uniqueItems": unique, "items": value}, st.booleans(), inner),
        st.builds(lambda value: {"unevaluatedProperties": value}, st.one_of(st.booleans(), inner)),
    ),
    max_leaves=6,
)
arguments_of = st.dictionaries(names, values, max_size=3)


@given(simple_schemas, arguments_of)
def test_the_fast_yes_is_never_wrong(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    accepts = compile_flat(schema)
    if accepts is not None and accepts(arguments):
        assert jsonschema.Draft202012Validator(schema).is_valid(arguments)


@given(st.dictionaries(names, st.fixed_dictionaries({"type": types}), max_size=3), arguments_of)
def test_the_fast_yes_says_all_there_is_to_say_about_plain_types(
    properties: dict[str, Any], arguments: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": properties}
    accepts = compile_flat(schema)
    assert accepts is not None
    whole_floats = any(isinstance(value, float) for value in arguments.values())
    assert accepts(arguments) is jsonschema.Draft202012Validator(schema).is_valid(arguments) or whole_floats


@given(st.one_of(simple_schemas, rich_schemas), arguments_of)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_the_verdict_agrees_with_the_plain_library(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    verdict = check(schema, arguments)
    if not verdict.not_checked:
        assert (not verdict.problems) is jsonschema.Draft202012Validator(schema).is_valid(arguments)


@given(simple_schemas, arguments_of)
def test_a_well_formed_simple_schema_is_always_used(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert check(schema, arguments).not_checked == ""


keywords = st.sampled_from(
    "type properties required enum const items anyOf oneOf allOf not $ref $defs pattern patternProperties minimum "
    "additionalProperties prefixItems unevaluatedProperties unevaluatedItems if then else format $schema $id id "
    "dependentRequired dependentSchemas contains minContains uniqueItems multipleOf $dynamicRef extends".split()
)
junk = st.one_of(scalars, st.sampled_from(["#", "#/$defs/a", "#/properties/a", "string", "object", "(", DRAFT_4]))
any_schemas = st.recursive(
    junk,
    lambda inner: st.one_of(
        st.dictionaries(st.one_of(keywords, names), inner, max_size=4), st.lists(inner, max_size=3)
    ),
    max_leaves=15,
).filter(lambda schema: isinstance(schema, dict))


@given(any_schemas, arguments_of)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_no_schema_at_all_makes_the_check_raise(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    verdict = check(schema, arguments)
    assert not (verdict.problems and verdict.not_checked)
    assert len(verdict.problems) <= 5
