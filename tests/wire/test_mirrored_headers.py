"""Which tools may be offered, given the headers they want their arguments repeated in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map

from toolcrib.wire.mirrored_headers import annotation_problem, argument_headers


def one(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"region": schema}}


REGION = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        None,
        one(type="string"),
        one(**REGION),
        one(type="object", properties={"name": REGION}),
        {"properties": {"region": REGION}, "default": {"x-mcp-header": 1}},
    ],
)
def test_a_schema_whose_headers_can_be_sent_has_no_problem(schema: Any) -> None:
    assert annotation_problem(schema) == ""


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (one(**{"type": "string", "x-mcp-header": "two words"}), "'region' is not the name"),
        (one(**{"type": "string", "x-mcp-header": ""}), "not the name"),
        (one(**{"type": "string", "x-mcp-header": 7}), "not the name"),
        (one(**{"type": "number", "x-mcp-header": "Region"}), "not a string, integer or boolean"),
        (one(**{"type": ["string"], "x-mcp-header": "Region"}), "not a string, integer or boolean"),
        (one(**{"x-mcp-header": "Region"}), "not a string, integer or boolean"),
        ({"properties": {"a": REGION, "b": {**REGION, "x-mcp-header": "region"}}}, "two properties"),
        ({"anyOf": [{"properties": {"a": REGION}}]}, "chain of properties"),
        (one(type="array", items=REGION), "chain of properties"),
        ({"$defs": {"region": REGION}}, "chain of properties"),
        (REGION, "chain of properties"),
    ],
)
def test_a_schema_whose_headers_can_not_be_sent_says_why(schema: Any, says: str) -> None:
    assert says in annotation_problem(schema)


KEYWORDS = st.sampled_from(
    ["properties", "items", "anyOf", "$defs", "not", "default", "patternProperties", "type", "x-mcp-header"]
)
LEAVES = st.sampled_from(["string", "integer", "number", "Region", "region", "a b", "", 1, None, True])
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.dictionaries(KEYWORDS | st.sampled_from(["a", "b"]), inner, max_size=4) | st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


@given(SCHEMAS)
def test_the_sdk_is_of_the_same_opinion_about_every_schema(schema: Any) -> None:
    assert bool(annotation_problem(schema)) == (find_invalid_x_mcp_header(schema) is not None)


@given(SCHEMAS, st.dictionaries(st.sampled_from(["a", "b"]), LEAVES))
def test_the_sdk_sends_the_same_headers_for_every_schema_without_a_problem(
    schema: Any, arguments: dict[str, Any]
) -> None:
    if not annotation_problem(schema):
        assert argument_headers(schema, arguments) == mcp_param_headers(x_mcp_header_map(schema), arguments)
