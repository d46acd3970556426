"""RTFS text of anybody is a type, or an error with its place; and what we write is read back as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.fuzzing import VALUES, damaged, fuzzed
from tests.processor_time import within
from toolcrib.errors import ToolcribError
from toolcrib.rtfs.read_capability import read_capabilities
from toolcrib.rtfs.read_type import parse_type
from toolcrib.rtfs.reader import RtfsError
from toolcrib.rtfs.write_type import rtfs_text
from toolcrib.schema.convert import convert
from toolcrib.schema.fine_print import fine_print
from toolcrib.schema.parameters import parameters
from toolcrib.schema.signature import signature
from toolcrib.schema.validate import ArgumentChecker

TYPES = [
    b"[:map [:name :string] [:age {:optional true} :int]]",
    b'[:union :nil [:vector [:enum "a" :b 3]]]',
    b'[:fn [:string :int & :any] [:and :int [:> 0] [:matches "^a+$"]]]',
    b'(capability "mcp.a.b" :name "b" :input-schema [:map [:x [:array :float [2 ?]]]] :description "say \\"hi\\"")',
]
PIECES = (
    b"[" * 90,
    b"(" * 90,
    b"{" * 90,
    b'"',
    b"#|",
    b"|#",
    b";",
    b"##NaN",
    b"\\",
    b"9" * 5_000,
    b"1e",
    b":",
    b"::",
    b"\xff",
    b"[:val 1]",
)
SCHEMA_WORDS = "type properties items required enum const anyOf oneOf allOf not $ref $defs pattern format default minimum additionalProperties prefixItems if then"
SCHEMAS = st.recursive(
    VALUES | st.sampled_from(["string", "object", "array", "#", "#/properties/a", "#/$defs/x", "(a+)+$", 1e308]),
    lambda inner: (
        st.dictionaries(st.sampled_from(SCHEMA_WORDS.split()) | st.sampled_from("a x y".split()), inner, max_size=5)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=24,
)


@fuzzed(400)
@given(damaged(TYPES, PIECES))
def test_fuzz_a_type_is_read_or_refused_with_its_place(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    with within():
        try:
            read = parse_type(text)
        except RtfsError as refusal:
            assert (refusal.line or 0) >= 1
            return
        again = rtfs_text(read)
        assert rtfs_text(parse_type(again)) == again
        assert rtfs_text(parse_type(rtfs_text(read, 2))) == again


@fuzzed()
@given(damaged(TYPES, PIECES))
def test_fuzz_a_file_of_capabilities_is_read_or_refused(raw: bytes) -> None:
    with within():
        try:
            read_capabilities(raw.decode("utf-8", "replace"))
        except ToolcribError as refusal:
            assert refusal.message


@fuzzed(150)
@given(SCHEMAS, VALUES)
def test_fuzz_any_schema_is_described_and_checked_in_time(schema: object, arguments: object) -> None:
    given_schema = schema if isinstance(schema, dict) else {"properties": {"a": schema}}
    with within(3.0):
        converted = convert(given_schema)
        assert isinstance(signature("tool", converted.type), str)
        assert isinstance(parameters(converted.type), list | tuple)
        fine_print(given_schema)
        rtfs_text(parse_type(rtfs_text(converted.type)))
        ArgumentChecker().check(given_schema, arguments if isinstance(arguments, dict) else {"a": arguments})
