from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import within
from toolcrib.schema.fine_print import fine_print

KEYWORDS = [
    "type",
    "properties",
    "items",
    "anyOf",
    "allOf",
    "$ref",
    "default",
    "minimum",
    "maxLength",
    "pattern",
    "$defs",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["string", "#", "#/properties/a", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(KEYWORDS), VALUES, max_size=6))
def test_any_schema_is_read(schema: dict[str, Any]) -> None:
    found = fine_print(schema)

    assert all(isinstance(text, str) and text for text in found.inner.values())


def wide(reference: str) -> dict[str, Any]:
    return {f"p{number}": {"$ref": reference, "description": "words"} for number in range(400)}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": wide("#")},
        {"properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"anyOf": [{"$ref": "#/$defs/N"}] * 300}}},
        {"properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"properties": wide("#/$defs/N")}}},
        {"properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}}},
    ],
)
def test_a_schema_that_refers_to_itself_without_end_takes_no_time(schema: dict[str, Any]) -> None:
    with within(1.0):
        found = fine_print(schema)

    assert not found.is_whole
