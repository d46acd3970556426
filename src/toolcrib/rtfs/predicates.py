"""The predicates the language knows, and what each takes."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.rtfs.forms import Form, Literal, Misplaced, VectorForm
from toolcrib.rtfs.types import Predicate

Fits = Callable[[Form], bool]


def _is(*kinds: str) -> Fits:
    return lambda form: isinstance(form, Literal) and form.kind in kinds


def _is_size(form: Form) -> bool:
    return isinstance(form, Literal) and form.kind == "int" and not form.text.startswith("-")


def _is_literal(form: Form) -> bool:
    return isinstance(form, Literal)


def _is_keys(form: Form) -> bool:
    return isinstance(form, VectorForm) and all(map(_is("keyword", "string"), form.items))


_is_number = _is("int", "float")
_KNOWN: dict[str, tuple[tuple[Fits, ...], str]] = {
    **dict.fromkeys((">", ">=", "<", "<="), ((_is_number,), "a number")),
    **dict.fromkeys(("=", "!="), ((_is_literal,), "a value")),
    **dict.fromkeys(
        ("min-length", "max-length", "length", "min-count", "max-count", "count"),
        ((_is_size,), "a number of 0 or more"),
    ),
    "matches-regex": ((_is("string"),), "a string"),
    "in-range": ((_is_number, _is_number), "two numbers"),
    "non-empty": ((), "nothing"),
    "has-key": ((_is("keyword", "string"),), "a key"),
    "required-keys": ((_is_keys,), "a vector of keys"),
}


def predicate(name: str, arguments: tuple[Form, ...], at: int) -> Predicate:
    """A predicate that takes what it should; one with a name of its own takes any literals."""
    if name in _KNOWN:
        expected, words = _KNOWN[name]
        if len(expected) != len(arguments) or not all(fits(one) for fits, one in zip(expected, arguments, strict=True)):
            raise Misplaced(f":{name} takes {words}", at)
    elif not all(map(_is_literal, arguments)):
        raise Misplaced(f"the predicate :{name} takes only numbers, strings and other plain values", at)
    return Predicate(name, arguments)
