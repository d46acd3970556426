"""The entries of a map type, in each of their spellings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from toolcrib.rtfs.forms import Form, Literal, MapForm, Misplaced, Symbol, VectorForm, keyword
from toolcrib.rtfs.reader import shown
from toolcrib.rtfs.spelling import form_text
from toolcrib.rtfs.types import Entry, Map, TypeExpr

WILDCARD = "*"
_USAGE = "expected [:key TYPE], [:key {:optional true} TYPE], [:key TYPE ?] or {:key TYPE …}"

ReadType = Callable[[Form], TypeExpr]


@dataclass(frozen=True, slots=True)
class _Spelled:
    """An entry taken apart, whichever way it was written."""

    key: Literal
    type: Form
    optional: bool

    @property
    def is_wildcard(self) -> bool:
        return self.key.kind == "keyword" and self.key.text == WILDCARD


def read_entries(items: Sequence[Form], read_type: ReadType) -> Map:
    """The map these entries describe; a key, or the wildcard, may stand only once."""
    entries: dict[str, Entry] = {}
    rest: TypeExpr | None = None
    for spelled in _spelled(items):
        key = spelled.key.text
        if spelled.is_wildcard and rest is None:
            rest = read_type(spelled.type)
        elif spelled.is_wildcard or key in entries:
            raise Misplaced(f"the key {shown(key)} appears twice in one map", spelled.key.at)
        else:
            entries[key] = Entry(key, read_type(spelled.type), spelled.optional)
    return Map(tuple(entries.values()), rest)


def _spelled(items: Sequence[Form]) -> Iterator[_Spelled]:
    for item in items:
        if isinstance(item, VectorForm):
            yield _from_vector(item)
        elif isinstance(item, MapForm):
            yield from _from_braces(item)
        else:
            raise Misplaced(f"{_USAGE}, found {shown(form_text(item))}", item.at)


def _from_vector(form: VectorForm) -> _Spelled:
    items = form.items
    if len(items) == 2:
        return _entry(items[0], items[1])
    if len(items) == 3 and _is_mark(items[2]):
        return _entry(items[0], items[1], optional=True)
    if len(items) == 3 and isinstance(items[1], MapForm):
        return _Spelled(_key(items[0]), items[2], _is_optional(items[1]))
    raise Misplaced(_USAGE, form.at)


def _from_braces(form: MapForm) -> Iterator[_Spelled]:
    items, at = form.items, 0
    while at < len(items):
        key, *rest = items[at : at + 3]
        if not rest:
            raise Misplaced(f"the key {shown(form_text(key))} has no type", key.at)
        marked = len(rest) == 2 and _is_mark(rest[1])
        at += 3 if marked else 2
        yield _entry(key, rest[0], optional=marked)


def _entry(key: Form, type: Form, *, optional: bool = False) -> _Spelled:
    """A `?` at the end of the type's name makes the entry optional, as a `?` beside it does."""
    plain = _without_mark(type)
    return _Spelled(_key(key), plain or type, optional or plain is not None)


def _without_mark(form: Form) -> Form | None:
    if isinstance(form, Symbol) and form.name.endswith("?") and form.name != "?":
        return Symbol(form.name[:-1], form.at)
    if isinstance(form, Literal) and form.kind == "keyword" and form.text.endswith("?") and form.text != "?":
        return keyword(form.text[:-1], form.at)
    return None


def _is_mark(form: Form) -> bool:
    return isinstance(form, Symbol) and form.name == "?"


def _key(form: Form) -> Literal:
    if isinstance(form, Literal) and form.kind in {"keyword", "string"}:
        return form
    raise Misplaced(f"a key is a keyword or a string, found {shown(form_text(form))}", form.at)


def _is_optional(properties: MapForm) -> bool:
    items = properties.items
    if len(items) == 2 and items[0] == keyword("optional"):
        value = items[1]
        if isinstance(value, Literal) and value.kind == "bool":
            return value.value is True
    raise Misplaced("expected {:optional true} or {:optional false}", properties.at)
