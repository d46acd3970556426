"""What we say of the protocol without loading the SDK is what the SDK says."""

from __future__ import annotations

from typing import Any, get_args

import mcp_types
import mcp_types.version
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared import inbound

from toolcrib.wire import protocol
from toolcrib.wire.mirrored_headers import argument_headers, header_value

# RESOURCE_NOT_FOUND is of older revisions: the SDK only reserves its number.
OWN_NAMES = {"RESERVED_META_PREFIX", "LOG_LEVELS", "ELICITATION_COMPLETE", "ROOTS_CHANGED", "RESOURCE_NOT_FOUND"}
OURS = {name: value for name, value in vars(protocol).items() if name.isupper() and name not in OWN_NAMES}
# No lone surrogates: JSON that holds them is refused long before.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = st.sampled_from("abcde")
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT, st.lists(st.integers()))
ARGUMENTS = st.dictionaries(NAMES, st.recursive(VALUES, lambda inner: st.dictionaries(NAMES, inner), max_leaves=8))


@pytest.mark.parametrize("name", OURS)
def test_a_word_of_the_protocol_is_the_one_of_the_sdk(name: str) -> None:
    places = (mcp_types.version, mcp_types, inbound)
    assert OURS[name] == next(getattr(place, name) for place in places if hasattr(place, name))


def test_notices_are_those_of_the_sdk() -> None:
    assert mcp_types.ElicitCompleteNotification.model_fields["method"].default == protocol.ELICITATION_COMPLETE
    assert mcp_types.RootsListChangedNotification.model_fields["method"].default == protocol.ROOTS_CHANGED


def test_the_levels_of_log_messages_are_those_of_the_sdk() -> None:
    assert get_args(mcp_types.LoggingLevel) == protocol.LOG_LEVELS


@given(st.one_of(TEXT, st.from_regex(r"=\?base64\?.*\?=", fullmatch=True), st.sampled_from([" a", "a ", "", "a\n"])))
def test_a_header_carries_any_text_and_the_sdk_reads_it_back(text: str) -> None:
    assert header_value(text) == inbound.encode_header_value(text)
    assert inbound.decode_header_value(header_value(text)) == text


def _schema(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, children)},
        optional={"items": children, "anyOf": st.lists(children, max_size=2)},
    )


LEAF = st.fixed_dictionaries({"type": st.just("string")}, optional={"x-mcp-header": st.sampled_from(["One", "x-Two"])})


@given(_schema(st.recursive(LEAF, _schema, max_leaves=8)), ARGUMENTS)
def test_arguments_are_repeated_as_the_sdk_repeats_them(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    if inbound.find_invalid_x_mcp_header(schema) is None:
        wanted = inbound.mcp_param_headers(inbound.x_mcp_header_map(schema), arguments)
        assert argument_headers(schema, arguments) == wanted
    assert set(argument_headers(schema, arguments)) <= {"Mcp-Param-One", "Mcp-Param-x-Two"}


@pytest.mark.parametrize("name", ["", "two words", "line\r\nbreak", "über", "a:b", 7, None])
def test_a_header_that_http_could_not_name_is_left_out(name: object) -> None:
    schema = {"properties": {"a": {"type": "string", "x-mcp-header": name}}}
    assert argument_headers(schema, {"a": "1"}) == {}


@pytest.mark.parametrize("schema", [None, 7, [], {}, {"properties": []}, {"properties": {"a": 3}}])
def test_a_schema_that_is_none_wants_nothing_repeated(schema: object) -> None:
    assert argument_headers(schema, {"a": 1}) == {}


def test_a_number_of_endless_digits_is_not_repeated() -> None:
    schema = {"properties": {"a": {"type": "integer", "x-mcp-header": "One"}}}
    assert argument_headers(schema, {"a": 10**5000}) == {}
