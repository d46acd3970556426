"""Values that were written as texts: taken where that is the only reading, and left alone everywhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolcrib.schema.coerce import put_right
from toolcrib.schema.validate import ArgumentChecker

CHECKER = ArgumentChecker()


def corrected(schema: dict[str, Any], raw: bytes, rounds: int = 8) -> bytes:
    """What a call with these arguments would send; as they were where they fit, or where nothing can be done."""
    for _ in range(rounds):
        verdict = CHECKER.check(schema, json.loads(raw))
        if not verdict.meant:
            break
        raw = put_right(raw, verdict.meant)
    return raw


def of(type: Any, text: Any) -> Any:
    """What becomes of one argument whose schema this is."""
    schema = {"type": "object", "properties": {"x": type}}
    return json.loads(corrected(schema, json.dumps({"x": text}).encode()))["x"]


INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
OBJECT = {"type": "object", "properties": {"n": INTEGER}}
CHOICE = {"anyOf": [INTEGER, {"type": "string"}]}
MAYBE = {"anyOf": [INTEGER, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (INTEGER, "3", 3),
        (INTEGER, "-12", -12),
        (INTEGER, "0", 0),
        (NUMBER, "3", 3),
        (NUMBER, "2.5", 2.5),
        (BOOLEAN, "true", True),
        (BOOLEAN, "false", False),
        (OBJECT, '{"n": 1}', {"n": 1}),
        (OBJECT, ' {\n "n": "1"\n} ', {"n": 1}),
        ({"type": "array", "items": INTEGER}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": INTEGER}, ["1", 2, "3"], [1, 2, 3]),
        (OBJECT, {"n": "5"}, {"n": 5}),
        (MAYBE, "7", 7),
        (MAYBE, "null", None),
        ({"type": ["integer", "boolean"]}, "true", True),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
    ],
)
def test_a_text_that_can_only_mean_one_value_is_taken_for_it(schema: Any, text: Any, value: Any) -> None:
    assert of(schema, text) == value
    assert type(of(schema, text)) is type(value)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "3"),
        ({"type": ["string", "integer"]}, "3"),
        ({"anyOf": [{"type": "string"}, INTEGER]}, "3"),
        ({}, "3"),
        (INTEGER, "3.0"),
        (INTEGER, "03"),
        (INTEGER, "+3"),
        (INTEGER, " 3"),
        (INTEGER, "-0"),
        (INTEGER, "1e3"),
        (INTEGER, "three"),
        (INTEGER, ""),
        (INTEGER, "true"),
        (INTEGER, "null"),
        (INTEGER, "12345678901234567890"),
        (NUMBER, "1.10"),
        (NUMBER, "1e3"),
        (NUMBER, "NaN"),
        (NUMBER, "Infinity"),
        (NUMBER, "0.1000000000000000055"),
        (BOOLEAN, "True"),
        (BOOLEAN, "yes"),
        (BOOLEAN, "1"),
        (OBJECT, "[1]"),
        (OBJECT, "{broken"),
        (OBJECT, '{"n": NaN}'),
        (OBJECT, "[" * 100_000),
        ({"type": "array"}, "a, b"),
        ({"type": "array"}, "{}"),
        ({"enum": [1, 2]}, "2"),
    ],
)
def test_a_text_that_may_mean_something_else_stays_a_text(schema: Any, text: str) -> None:
    assert of(schema, text) == text


@pytest.mark.parametrize("value", [3, 2.5, True, {"n": 1}, [1]])
def test_nothing_but_a_text_or_a_null_is_ever_changed(value: Any) -> None:
    assert of({"type": "string"}, value) == value


@pytest.mark.parametrize("type", [INTEGER, {"type": "string"}, OBJECT, {"type": ["string", "integer"]}, CHOICE])
def test_a_null_that_the_schema_does_not_know_is_left_out(type: Any) -> None:
    schema = {"type": "object", "properties": {"x": type, "y": INTEGER}, "required": ["y"]}

    assert json.loads(corrected(schema, b'{"x":null,"y":1}')) == {"y": 1}


@pytest.mark.parametrize(
    ("type", "required"),
    [
        (INTEGER, ["x"]),
        (MAYBE, []),
        ({"type": "null"}, []),
        ({}, []),
        ({"enum": ["a", None]}, []),
        ({"enum": ["a"]}, []),
    ],
)
def test_a_null_that_is_needed_or_may_mean_something_stays(type: Any, required: list[str]) -> None:
    schema = {"type": "object", "properties": {"x": type}, "required": required}

    assert corrected(schema, b'{"x":null}') == b'{"x":null}'


def test_a_null_inside_of_an_argument_stays() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "object", "properties": {"n": INTEGER}}}}

    assert corrected(schema, b'{"x":{"n":null}}') == b'{"x":{"n":null}}'


def test_what_is_not_corrected_keeps_every_character() -> None:
    schema = {"type": "object", "properties": {"n": INTEGER, "list": {"items": OBJECT}}}
    raw = b'{ "id" : 123456789012345678901234567890, "f":1.10,"n":"3","list":[ {"n" : 1},{"n":"2","x":1.50}] }'

    assert corrected(schema, raw) == (
        b'{"id":123456789012345678901234567890,"f":1.10,"n":3,"list":[{"n" : 1},{"n":2,"x":1.50}]}'
    )


# -- whatever the schema and the arguments are

SCALARS = st.sampled_from(["string", "integer", "number", "boolean", "null"])
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    SCALARS.map(lambda name: {"type": name})
    | st.lists(SCALARS, min_size=1, max_size=3).map(lambda names: {"type": names}),
    lambda inner: (
        inner.map(lambda items: {"type": "array", "items": items})
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties}
        )
        | st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches})
    ),
    max_leaves=8,
)
TEXTS = st.sampled_from(["3", "true", "null", "2.5", "[]", "{}", '{"a":"1"}', '["1",2]', "words", ""]) | st.text(
    max_size=8
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9).map(lambda number: round(number, 2)) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
TOOLS = st.dictionaries(st.sampled_from("abc"), SCHEMAS, max_size=3).map(
    lambda properties: {"type": "object", "properties": properties}
)


def plain(value: Any) -> Any:
    """The value with every text in it taken for the JSON it is, if it is some; equal where nothing was lost."""
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except ValueError:
            return value
        return plain(read)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def changes(before: Any, after: Any) -> list[tuple[Any, Any]]:
    """The values that are not what they were."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return [change for name in before for change in changes(before[name], after[name])]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [change for one, other in zip(before, after, strict=True) for change in changes(one, other)]
    return [] if (before, type(before)) == (after, type(after)) else [(before, after)]


@given(TOOLS, ARGUMENTS)
def test_a_call_that_fits_is_never_changed(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assume(not CHECKER.check(schema, arguments).problems)
    raw = json.dumps(arguments).encode()

    assert corrected(schema, raw) is raw


@given(TOOLS, ARGUMENTS)
def test_a_correction_loses_nothing_and_changes_only_texts_into_their_own_json(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    after = json.loads(corrected(schema, json.dumps(arguments).encode()))
    arguments = {name: value for name, value in arguments.items() if value is not None or name in after}

    assert plain(after) == plain(arguments)
    for text, value in changes(arguments, after):
        assert isinstance(text, str)
        assert not isinstance(value, str)


@given(SCHEMAS, st.text(max_size=6) | TEXTS)
def test_a_text_stays_a_text_wherever_the_schema_takes_texts(schema: dict[str, Any], text: str) -> None:
    tool = {"type": "object", "properties": {"a": {"anyOf": [schema, {"type": "string"}]}}}
    raw = json.dumps({"a": text}).encode()

    assert corrected(tool, raw) is raw


@given(TOOLS, ARGUMENTS)
def test_correcting_twice_is_correcting_once(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    once = corrected(schema, json.dumps(arguments).encode(), rounds=20)

    assert corrected(schema, once, rounds=20) is once
