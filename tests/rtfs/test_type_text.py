"""Types to text and back: every spelling is read, one is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rtfs.type_samples import hostile_texts, types
from toolcrib.errors import RtfsError, ValidationError
from toolcrib.rtfs.forms import Literal, Symbol, VectorForm, keyword, literal
from toolcrib.rtfs.read_type import parse_type
from toolcrib.rtfs.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NIL,
    STRING,
    Alias,
    And,
    Array,
    Entry,
    Enum,
    Fn,
    Map,
    MapOf,
    Predicate,
    Primitive,
    Resource,
    Tuple,
    TypeExpr,
    Val,
    Vector,
    optional,
    union_of,
)
from toolcrib.rtfs.write_type import rtfs_text

ISSUE = Map((Entry("owner", STRING), Entry("repo", STRING), Entry("state", STRING, optional=True)))
ISSUE_TEXT = """\
[:map
  [:owner :string]
  [:repo :string]
  [:state {:optional true} :string]]"""


def test_the_published_type_is_written_exactly() -> None:
    assert rtfs_text(ISSUE, indent=0) == ISSUE_TEXT
    assert rtfs_text(ISSUE) == "[:map [:owner :string] [:repo :string] [:state {:optional true} :string]]"
    assert parse_type(ISSUE_TEXT) == ISSUE


def test_maps_in_maps_are_indented_further() -> None:
    nested = Map((Entry("a", Vector(Map((Entry("b", INT),)))),))
    assert rtfs_text(nested, indent=2) == "[:map\n    [:a [:vector [:map\n      [:b :int]]]]]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":int", INT),
        ("int", INT),
        ("nil", NIL),
        (":nil", NIL),
        (":never", NEVER),
        (":keyword", Primitive("keyword")),
        ("symbol", Primitive("symbol")),
        (":Issue", Alias("Issue")),
        ("acme.types/Issue", Alias("acme.types/Issue")),
        (":acme:v1.0/Issue", Alias("acme:v1.0/Issue")),
        (":string?", optional(STRING)),
        ("string?", optional(STRING)),
        (":Issue?", optional(Alias("Issue"))),
        ("[:union :nil :string]", optional(STRING)),
        ("[:union :string]", STRING),
        ("[:union :int [:union :string :int]]", union_of((INT, STRING))),
        ("[:vector :any]", Vector(ANY)),
        ("[:tuple :int :string?]", Tuple((INT, optional(STRING)))),
        ("[:map]", Map()),
        ("[:record [:a :int]]", Map((Entry("a", INT),))),
        ("[:map [:a :int] [:* :float]]", Map((Entry("a", INT),), FLOAT)),
        ('[:map ["*" :int] ["the key" :string] ["1st" :bool]]', None),
        ("[:map-of :keyword :int]", MapOf(Primitive("keyword"), INT)),
        ("[:dict :string [:vector :int]]", MapOf(STRING, Vector(INT))),
        ('[:enum "open" :closed 1 2.5 nil true]', None),
        ("[:val 1]", Val(literal(1))),
        ("[:and :int [:> 0] [:in-range 1 2.5]]", None),
        ("[:and :string [is-email] :Name [:vector :int]]", None),
        ("[:array :float [2 ? 3]]", Array(FLOAT, (2, None, 3))),
        ("[:array :float]", Array(FLOAT)),
        ("[:fn [:int & :string] :bool]", Fn((INT,), STRING, BOOL)),
        ("[:fn [] :nil]", Fn((), None, NIL)),
        ("[:resource FileHandle]", Resource("FileHandle")),
    ],
)
def test_every_form_of_the_grammar_is_read(text: str, expected: TypeExpr | None) -> None:
    found = parse_type(text)
    assert expected is None or found == expected
    assert parse_type(rtfs_text(found)) == found


@pytest.mark.parametrize(
    "entry",
    [
        "[:state {:optional true} :string]",
        "[:state :string?]",
        "[:state string?]",
        "[:state :string ?]",
        "{:state :string ?}",
        "{:state :string?}",
        '["state" :string ?]',
    ],
)
def test_every_spelling_of_an_optional_entry_is_read_and_one_is_written(entry: str) -> None:
    assert parse_type(f"[:map {entry}]") == Map((Entry("state", STRING, optional=True),))
    assert rtfs_text(parse_type(f"[:map {entry}]")) == "[:map [:state {:optional true} :string]]"


def test_an_entry_that_must_be_there_but_may_be_nil_is_not_optional() -> None:
    text = "[:map [:state [:union :string :nil]]]"
    assert parse_type(text) == Map((Entry("state", optional(STRING)),))
    assert rtfs_text(parse_type(text)) == text


def test_very_many_entries_in_braces_are_read() -> None:
    entries = " ".join(f":k{number} :int ?" for number in range(20_000))

    read = parse_type(f"[:map {{{entries}}}]")

    assert isinstance(read, Map)
    assert (len(read.entries), read.entries[-1].key, read.entries[-1].optional) == (20_000, "k19999", True)


def test_several_entries_may_share_braces() -> None:
    assert parse_type("[:map {:a :int ? :b [:vector :int] ? :c :bool} [:d {:optional false} :int]]") == Map(
        (Entry("a", INT, optional=True), Entry("b", Vector(INT), optional=True), Entry("c", BOOL), Entry("d", INT))
    )


def test_a_question_mark_belongs_to_the_name_of_a_key() -> None:
    assert parse_type("[:map [:active? :bool]]") == Map((Entry("active?", BOOL),))


def test_predicates_keep_their_arguments() -> None:
    found = parse_type(
        '[:and :string [:min-length 1] [:matches-regex "^a\\\\d$"] [:required-keys [:a "b c"]] [even 2]]'
    )
    assert found == And(
        STRING,
        (
            Predicate("min-length", (literal(1),)),
            Predicate("matches-regex", (literal("^a\\d$"),)),
            Predicate("required-keys", (VectorForm((keyword("a"), literal("b c"))),)),
            Predicate("even", (literal(2),)),
        ),
    )


def test_literals_of_every_kind_are_told_apart() -> None:
    text = (
        '[:enum nil true false 1 +1 -2 1.0 2.5e3 ##Inf ##-Inf ##NaN "s" :k :ns/k :ns:v1.0/k '
        "2024-05-06T07:08:09Z 123e4567-e89b-42d3-a456-426614174000]"
    )
    found = parse_type(text)
    assert isinstance(found, Enum)
    assert [value.kind for value in found.values] == [
        "nil",
        *["bool"] * 2,
        *["int"] * 3,
        *["float"] * 5,
        "string",
        *["keyword"] * 3,
        "timestamp",
        "uuid",
    ]
    assert literal(1) != literal(1.0) != literal(True)
    assert rtfs_text(found) == text.replace("+1", "1").replace("2.5e3", "2500.0")


def test_comments_are_skipped_and_strings_are_not() -> None:
    text = '; a type\n[:map #| with\n| one |# [:a :int] ; done\n ["; no comment" :int]\n["#| nor |# this" :int]]'
    found = parse_type(text)
    assert isinstance(found, Map)
    assert [entry.key for entry in found.entries] == ["a", "; no comment", "#| nor |# this"]


def test_strings_may_hold_line_breaks_and_the_five_escapes() -> None:
    assert parse_type('[:val "a\nb\\n\\t\\r\\\\\\""]') == Val(literal('a\nb\n\t\r\\"'))


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("", 1, 1, "found nothing"),
        ("; only a comment", 1, 17, "found nothing"),
        (":int :string", 1, 6, "found more"),
        ("[:map\n  [:a :int]\n  [:b, :int]]", 3, 6, "comma"),
        ("[:vector :int", 1, 1, "never closed"),
        ("[:vector\n [:map}", 2, 7, "expected ], found }"),
        (":int]", 1, 5, "closes nothing"),
        ('[:val "abc]', 1, 7, "never closed"),
        ('[:val "a\\x"]', 1, 9, "not an escape"),
        ("[:val 12abc]", 1, 7, "neither a number nor a name"),
        ("#| never", 1, 1, "never closed"),
        ("[:val ##Nope]", 1, 7, "neither"),
        ("[]", 1, 1, "expected a type"),
        ("(int)", 1, 1, "expected a type"),
        ('"int"', 1, 1, "expected a type"),
        ("[:vectr :int]", 1, 2, "does not begin a type"),
        ("[:vector]", 1, 1, "[:vector TYPE]"),
        ("[:tuple]", 1, 1, "[:tuple TYPE"),
        ("[:enum]", 1, 1, "[:enum VALUE"),
        ("[:enum [1]]", 1, 8, "plain value"),
        ("[:and :int]", 1, 1, "[:and TYPE"),
        ("[:and :int [:> :a]]", 1, 12, "takes a number"),
        ("[:and :int [:min-length -1]]", 1, 12, "0 or more"),
        ("[:and :int [odd [1]]]", 1, 12, "plain values"),
        ("[:map :a]", 1, 7, "[:key TYPE]"),
        ("[:map [:a]]", 1, 7, "[:key TYPE]"),
        ("[:map [:a :int :b :int]]", 1, 7, "[:key TYPE]"),
        ("[:map [a :int]]", 1, 8, "keyword or a string"),
        ("[:map [:a :int] [:a :int]]", 1, 18, "twice"),
        ("[:map [:* :int] [:* :int]]", 1, 18, "twice"),
        ("[:map {:a}]", 1, 8, "no type"),
        ("[:map [:a {:optional 1} :int]]", 1, 11, "{:optional true}"),
        ("[:array :int 3]", 1, 14, "vector"),
        ("[:array :int [-1]]", 1, 15, "0 or more"),
        ("[:fn :int :int]", 1, 6, "vector"),
        ("[:fn [& :int :int] :int]", 1, 7, "before the last"),
        ("[:resource :File]", 1, 12, "bare word"),
        ("?", 1, 1, "not a type"),
        (":int??", 1, 1, "not a type"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(RtfsError) as caught:
        parse_type(text)
    assert (caught.value.line, caught.value.column) == (line, column), caught.value.message
    assert said in caught.value.message
    assert isinstance(caught.value, ValidationError)


@pytest.mark.parametrize("text", ["[" * 100_000, "[:vector " * 5_000, ":a " * 200_000, "x" * 1_000_001, "9" * 5_000])
def test_a_text_without_end_is_refused_at_once(text: str) -> None:
    with pytest.raises(RtfsError):
        parse_type(text)


@given(types)
def test_what_is_written_is_read_back_the_same(type: TypeExpr) -> None:
    text = rtfs_text(type)
    assert parse_type(text) == type
    assert parse_type(rtfs_text(type, indent=0)) == type
    assert rtfs_text(parse_type(text)) == text


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from([*'[](){}?;,# "\\&*', "[:map ", ":a ", ":int", "[:union ", "1"])).map("".join),
    )
)
def test_any_text_is_a_type_or_a_clear_error(text: str) -> None:
    try:
        found = parse_type(text)
    except RtfsError:
        return
    assert parse_type(rtfs_text(found)) == found


@given(hostile_texts, hostile_texts)
def test_hostile_keys_and_values_stay_what_they_are(first: str, second: str) -> None:
    written = rtfs_text(Map((Entry(first, Enum((literal(second),))), Entry(f"{first}+", Val(literal(first))))))
    found = parse_type(written)
    assert isinstance(found, Map)
    assert len(found.entries) == 2
    assert found.rest is None
    assert rtfs_text(found) == written
    written.encode("utf-8")


def test_keys_that_differ_only_in_what_cannot_be_written_are_written_once() -> None:
    assert rtfs_text(Map((Entry("a\x00", INT), Entry("a\x01", STRING)))) == '[:map ["a\ufffd" :int]]'


def test_forms_compare_by_what_they_say_and_not_by_where_they_stood() -> None:
    assert Symbol("a", 5) == Symbol("a", 9)
    assert Literal("int", "1", 5) == literal(1)
