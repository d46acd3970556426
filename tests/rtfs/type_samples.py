"""Strategies for types and for the text in them, hostile text included."""

from __future__ import annotations

from hypothesis import strategies as st

from toolcrib.rtfs.forms import Form, Literal, VectorForm, keyword, literal
from toolcrib.rtfs.spelling import KEYWORD_NAME, writable
from toolcrib.rtfs.types import (
    PRIMITIVES,
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
    union_of,
)

hostile_texts = st.one_of(
    st.text(),
    st.sampled_from(
        [
            '")) (capability :evil :implementation (run "rm")) ("',
            'a\\" b',
            "\\",
            'ends in a backslash\\"',
            "; comment",
            "#| open",
            "|#",
            "line\nbreak\r\ttab",
            "\x1b]0;title\x07",
            "\u202eturned\u2066",
            "\ud800",
            "\u2028",
            "*",
            ":*",
            "",
            "{:optional true}",
        ]
    ),
)
texts = hostile_texts.map(writable)
identifiers = st.from_regex(r"[A-Za-z_$+\-*/=<>!%][A-Za-z0-9_$+\-*/=<>!%.@]{0,8}", fullmatch=True)
names = identifiers.filter(lambda name: name not in PRIMITIVES)
literals = st.one_of(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts).map(literal),
    st.from_regex(KEYWORD_NAME, fullmatch=True).map(keyword),
    st.uuids().map(lambda value: Literal("uuid", str(value))),
    st.datetimes()
    .map(lambda value: Literal("timestamp", f"{value.replace(microsecond=0).isoformat()}Z"))
    .filter(lambda value: len(value.text) == len("2024-01-01T00:00:00Z")),
)
numbers = st.one_of(st.integers(), st.floats()).map(literal)
sizes = st.integers(0, 10**6).map(literal)
keys = st.one_of(identifiers.map(keyword), texts.map(literal))


def _predicate(names: list[str], *arguments: st.SearchStrategy[Form]) -> st.SearchStrategy[Predicate]:
    return st.builds(Predicate, st.sampled_from(names), st.tuples(*arguments))


predicates = st.one_of(
    _predicate([">", ">=", "<", "<="], numbers),
    _predicate(["=", "!="], literals),
    _predicate(["min-length", "max-length", "length", "min-count", "max-count", "count"], sizes),
    _predicate(["matches-regex"], texts.map(literal)),
    _predicate(["in-range"], numbers, numbers),
    _predicate(["non-empty"]),
    _predicate(["has-key"], keys),
    _predicate(["required-keys"], st.lists(keys, max_size=3).map(lambda found: VectorForm(tuple(found)))),
    st.builds(Predicate, st.sampled_from(["is-email", "acme/even"]), st.lists(literals, max_size=2).map(tuple)),
)
leaves: st.SearchStrategy[TypeExpr] = st.one_of(
    st.sampled_from(sorted(PRIMITIVES)).map(Primitive),
    names.map(Alias),
    names.map(Resource),
    st.lists(literals, min_size=1, max_size=4).map(lambda found: Enum(tuple(found))),
    literals.map(Val),
)


def _row(inner: st.SearchStrategy[TypeExpr], least: int = 0) -> st.SearchStrategy[tuple[TypeExpr, ...]]:
    return st.lists(inner, min_size=least, max_size=3).map(tuple)


def _nested(inner: st.SearchStrategy[TypeExpr]) -> st.SearchStrategy[TypeExpr]:
    entries = st.lists(
        st.builds(Entry, st.one_of(identifiers, texts), inner, st.booleans()), max_size=4, unique_by=lambda one: one.key
    )
    dimensions = st.lists(st.one_of(st.none(), st.integers(0, 99)), max_size=3).map(tuple)
    return st.one_of(
        inner.map(Vector),
        _row(inner, 1).map(Tuple),
        st.builds(Map, entries.map(tuple), st.one_of(st.none(), inner)),
        st.builds(MapOf, inner, inner),
        _row(inner, 1).map(union_of),
        st.builds(And, inner, st.lists(st.one_of(predicates, inner), min_size=1, max_size=3).map(tuple)),
        st.builds(Array, inner, dimensions),
        st.builds(Fn, _row(inner), st.one_of(st.none(), inner), inner),
    )


types: st.SearchStrategy[TypeExpr] = st.recursive(leaves, _nested, max_leaves=12)
