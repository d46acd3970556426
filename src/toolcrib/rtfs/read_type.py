"""Text, or forms, to a type."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.rtfs.forms import Form, Literal, Misplaced, Symbol, VectorForm
from toolcrib.rtfs.map_entries import read_entries
from toolcrib.rtfs.predicates import predicate
from toolcrib.rtfs.reader import places_in, read_forms, shown
from toolcrib.rtfs.spelling import form_text
from toolcrib.rtfs.types import (
    NIL,
    PRIMITIVES,
    Alias,
    And,
    Array,
    Enum,
    Fn,
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

Items = tuple[Form, ...]


def parse_type(text: str) -> TypeExpr:
    """The one type a text holds; raises RtfsError with line and column."""
    with places_in(text):
        forms = read_forms(text)
        if len(forms) != 1:
            at = forms[1].at if forms else len(text)
            raise Misplaced("expected one type" + (", found more" if forms else ", found nothing"), at)
        return type_from(forms[0])


def type_from(form: Form) -> TypeExpr:
    """The type a form stands for; raises Misplaced."""
    if isinstance(form, Symbol) or (isinstance(form, Literal) and form.kind == "keyword"):
        return _named(form)
    if isinstance(form, Literal) and form.kind == "nil":
        return NIL
    if isinstance(form, VectorForm) and form.items:
        head = form.items[0]
        if isinstance(head, Literal) and head.kind == "keyword" and head.text in _CONSTRUCTORS:
            return _CONSTRUCTORS[head.text](form.items[1:], form.at)
        raise Misplaced(
            f"{shown(form_text(head))} does not begin a type: expected one of :{' :'.join(_CONSTRUCTORS)}", head.at
        )
    raise Misplaced(f"expected a type such as :string or [:vector :int], found {shown(form_text(form))}", form.at)


def _named(form: Literal | Symbol) -> TypeExpr:
    name = form.text if isinstance(form, Literal) else form.name
    # `?` may be part of a name, so that `:string?` was read as one keyword.
    plain = name.removesuffix("?")
    if not plain or plain.endswith("?") or plain == "&":
        raise Misplaced(f"{shown(name)} is not a type", form.at)
    found = Primitive(plain) if plain in PRIMITIVES else Alias(plain)
    return found if plain == name else optional(found)


def _exactly(items: Items, count: int, usage: str, at: int) -> Items:
    if len(items) != count:
        raise Misplaced(f"expected {usage}", at)
    return items


def _at_least_one(items: Items, usage: str, at: int) -> Items:
    if not items:
        raise Misplaced(f"expected {usage}", at)
    return items


def _vector(items: Items, at: int) -> TypeExpr:
    return Vector(type_from(_exactly(items, 1, "[:vector TYPE]", at)[0]))


def _tuple(items: Items, at: int) -> TypeExpr:
    return Tuple(tuple(map(type_from, _at_least_one(items, "[:tuple TYPE …]", at))))


def _map(items: Items, _at: int) -> TypeExpr:
    return read_entries(items, type_from)


def _map_of(items: Items, at: int) -> TypeExpr:
    key, value = _exactly(items, 2, "[:map-of KEY-TYPE VALUE-TYPE]", at)
    return MapOf(type_from(key), type_from(value))


def _union(items: Items, at: int) -> TypeExpr:
    return union_of(map(type_from, _at_least_one(items, "[:union TYPE …]", at)))


def _literal(form: Form) -> Literal:
    if not isinstance(form, Literal):
        raise Misplaced(f"expected a plain value, found {shown(form_text(form))}", form.at)
    return form


def _enum(items: Items, at: int) -> TypeExpr:
    return Enum(tuple(map(_literal, _at_least_one(items, "[:enum VALUE …]", at))))


def _val(items: Items, at: int) -> TypeExpr:
    return Val(_literal(_exactly(items, 1, "[:val VALUE]", at)[0]))


def _and(items: Items, at: int) -> TypeExpr:
    if len(items) < 2:
        raise Misplaced("expected [:and TYPE CONDITION …]", at)
    return And(type_from(items[0]), tuple(map(_condition, items[1:])))


def _condition(form: Form) -> Predicate | TypeExpr:
    """A vector that begins with no type's word is a predicate."""
    if isinstance(form, VectorForm) and form.items:
        head = form.items[0]
        if isinstance(head, Symbol):
            return predicate(head.name, form.items[1:], form.at)
        if isinstance(head, Literal) and head.kind == "keyword" and head.text not in _CONSTRUCTORS:
            return predicate(head.text, form.items[1:], form.at)
    return type_from(form)


def _array(items: Items, at: int) -> TypeExpr:
    if len(items) == 1:
        return Array(type_from(items[0]))
    item, dimensions = _exactly(items, 2, "[:array TYPE [SIZE …]]", at)
    if not isinstance(dimensions, VectorForm):
        raise Misplaced("expected the sizes as a vector: [:array TYPE [SIZE …]]", dimensions.at)
    return Array(type_from(item), tuple(map(_dimension, dimensions.items)))


def _dimension(form: Form) -> int | None:
    if isinstance(form, Symbol) and form.name == "?":
        return None
    if isinstance(form, Literal) and form.kind == "int" and not form.text.startswith("-"):
        return int(form.text)
    raise Misplaced("a size is a number of 0 or more, or ? for any", form.at)


def _fn(items: Items, at: int) -> TypeExpr:
    parameters, result = _exactly(items, 2, "[:fn [TYPE … & TYPE] RESULT-TYPE]", at)
    if not isinstance(parameters, VectorForm):
        raise Misplaced("expected the parameters as a vector: [:fn [TYPE …] RESULT-TYPE]", parameters.at)
    fixed, rest = _split_rest(parameters)
    return Fn(tuple(map(type_from, fixed)), None if rest is None else type_from(rest), type_from(result))


def _split_rest(parameters: VectorForm) -> tuple[Items, Form | None]:
    items = parameters.items
    marks = [number for number, item in enumerate(items) if isinstance(item, Symbol) and item.name == "&"]
    if not marks:
        return items, None
    if marks != [len(items) - 2]:
        raise Misplaced("& goes before the last parameter, only once", items[marks[0]].at)
    return items[: marks[0]], items[-1]


def _resource(items: Items, at: int) -> TypeExpr:
    form = _exactly(items, 1, "[:resource NAME]", at)[0]
    if isinstance(form, Symbol) and form.name != "&":
        return Resource(form.name)
    raise Misplaced("expected [:resource NAME] with a bare word", form.at)


_CONSTRUCTORS: dict[str, Callable[[Items, int], TypeExpr]] = {
    "vector": _vector,
    "tuple": _tuple,
    "map": _map,
    "record": _map,
    "map-of": _map_of,
    "dict": _map_of,
    "union": _union,
    "enum": _enum,
    "val": _val,
    "and": _and,
    "array": _array,
    "fn": _fn,
    "resource": _resource,
}
