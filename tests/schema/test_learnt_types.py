from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.schema.fit import WHOLE, misfit
from toolcrib.schema.infer import MOST_ITEMS, SampleTooLarge, Shape, infer_schema

INTEGER, STRING = {"type": "integer"}, {"type": "string"}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (None, {"type": "null"}),
        (True, {"type": "boolean"}),
        (1, INTEGER),
        (1.5, {"type": "number"}),
        ("x", STRING),
        ([], {"type": "array"}),
        ([1, 2], {"type": "array", "items": INTEGER}),
        ([1, 2.5], {"type": "array", "items": {"type": "number"}}),
        ([1, "x"], {"type": "array", "items": {}}),
        ([True, 1], {"type": "array", "items": {}}),
        ({}, {"type": "object"}),
        ({"id": 1}, {"type": "object", "properties": {"id": INTEGER}, "required": ["id"]}),
    ],
)
def test_a_value_has_the_type_it_shows(value: Any, schema: dict[str, Any]) -> None:
    assert infer_schema(value) == schema


def test_records_of_a_list_are_merged_and_what_is_not_in_all_is_optional() -> None:
    rows = infer_schema([{"id": 1, "name": "a"}, {"id": 2, "name": None, "tag": "x"}])

    assert rows["items"]["required"] == ["id", "name"]
    assert rows["items"]["properties"] == {"id": INTEGER, "name": {"type": ["null", "string"]}, "tag": STRING}


@pytest.mark.parametrize(
    "value",
    [
        {"2024-01-01": 1, "2024-01-02": 2},
        {"ann@example.com": 1},
        {"3f2b9c1d-0000": 1, "name": 2},
        {"/etc/passwd": 1},
        {"two words": 1},
        {"": 1},
        {"x" * 80: 1},
        {f"key_{chr(97 + number % 26)}_{chr(97 + number // 26)}": 1 for number in range(40)},
    ],
)
def test_keys_that_are_data_become_a_map_and_are_not_kept(value: dict[str, Any]) -> None:
    assert infer_schema(value) == {"type": "object", "additionalProperties": INTEGER}


def test_an_odd_key_among_many_fields_leaves_the_fields_as_they_are() -> None:
    schema = infer_schema({"id": 1, "name": "a", "at": 2, "1. open": 2.5})

    assert set(schema["properties"]) == {"id", "name", "at"}
    assert schema["additionalProperties"] == {"type": "number"}


def test_fields_none_of_which_is_always_there_are_names_of_things() -> None:
    people = [{f"{name}_{number}": 1 for name in ("ann", "bob", "eve", "joe")} for number in range(4)]

    assert infer_schema(*people) == {"type": "object", "additionalProperties": INTEGER}


@pytest.mark.parametrize("key", ["@type", "$schema", "_id", "content-type", "ipv4", "sha256", "größe", "名前"])
def test_ordinary_names_of_fields_are_kept(key: str) -> None:
    assert list(infer_schema({key: 1})["properties"]) == [key]


def test_a_shape_goes_on_from_what_was_stored() -> None:
    first = infer_schema({"id": 1, "rows": [1, "x"], "days": {"2024-01-01": 1}})
    shape = Shape(json.loads(json.dumps(first)))

    shape.add({"rows": [1], "days": {"monday": 2}, "more": True})

    assert shape.schema["required"] == ["days", "rows"]
    assert shape.schema["properties"]["rows"] == {"type": "array", "items": {}}
    assert shape.schema["properties"]["days"] == {"type": "object", "additionalProperties": INTEGER}


def test_a_field_that_was_optional_stays_so_after_storing() -> None:
    shape = Shape(infer_schema({"a": 1}, {"b": 1}))

    shape.add({"a": 1, "b": 2})

    assert "required" not in shape.schema


def test_a_long_list_is_judged_by_its_beginning_and_a_vast_value_not_at_all() -> None:
    assert infer_schema([1] * MOST_ITEMS + ["x"]) == {"type": "array", "items": INTEGER}
    shape = Shape()
    with pytest.raises(SampleTooLarge):
        shape.add([[[[1] * 20] * 20] * 20] * 20)
    assert shape.schema == {}


def test_a_deep_value_is_cut_without_a_crash() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]

    assert len(json.dumps(infer_schema(deep))) < 1_000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "name", "rows", "2024-01-01", "a b", "x@y.z"]) | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(st.lists(_JSON, min_size=1, max_size=5))
def test_every_value_fits_what_was_learnt_from_it_also_after_storing(values: list[Any]) -> None:
    schema = infer_schema(*values)

    assert [misfit(schema, value) for value in values] == [""] * len(values)
    assert Shape(json.loads(json.dumps(schema))).schema == schema


@given(_JSON, _JSON)
def test_what_did_not_fit_fits_once_it_was_added(first: Any, second: Any) -> None:
    shape = Shape(infer_schema(first))
    shape.add(second)

    assert (misfit(shape.schema, first), misfit(shape.schema, second)) == ("", "")


@given(st.dictionaries(st.text(min_size=1), st.just("secret value"), max_size=50))
def test_no_value_and_no_key_that_is_data_is_in_a_schema(value: dict[str, str]) -> None:
    schema = infer_schema(value)

    assert "secret" not in json.dumps(schema)
    assert all(len(key) <= 42 for key in schema.get("properties", {}))


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"rows": [{"id": 1}], "days": {"2024-01-01": 1}}, ""),
        ({"rows": [], "days": {}, "new": 1}, ""),
        ({"rows": [{"id": "1"}], "days": {}}, "rows[].id"),
        ({"rows": [{}], "days": {}}, "rows[].id"),
        ({"rows": []}, "days"),
        ({"rows": [], "days": {"ann@example.com": "x"}}, "days.*"),
        ([], WHOLE),
        (None, WHOLE),
    ],
)
def test_where_a_result_differs_is_said_without_its_data(value: Any, where: str) -> None:
    schema = infer_schema({"rows": [{"id": 1}], "days": {"2024-01-01": 1, "2024-01-02": 3}})

    assert misfit(schema, value) == where
