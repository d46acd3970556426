"""A fast yes for the schemas most tools have; whatever it does not say yes to goes to the full validator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MAX_DEPTH = 4
MAX_BRANCHES = 4
MAX_ITEMS = 1_000

Accepts = Callable[[Any], bool]
_Compile = Callable[[Any, Mapping[str, Any], int], Accepts]

_ANNOTATIONS = frozenset(
    ("title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly", "$comment")
)
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def compile_flat(schema: Mapping[str, Any]) -> Accepts | None:
    """A test that is true only for valid arguments, or None where the schema says more than it understands."""
    root = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
    try:
        return _compile(root, MAX_DEPTH)
    except _TooRich:
        return None


class _TooRich(Exception):
    """The schema uses a keyword, or a form of one, that is left to the full validator."""


def _compile(schema: Any, depth: int) -> Accepts:
    if not isinstance(schema, dict) or not depth:
        raise _TooRich
    rules = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
    if not rules.keys() <= _KEYWORDS.keys():
        raise _TooRich
    tests = [_KEYWORDS[key](value, schema, depth) for key, value in rules.items()]
    if not tests:
        return lambda _value: True
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda value: first(value) and second(value)
    return lambda value: all(test(value) for test in tests)


def _type(names: Any, _schema: Mapping[str, Any], _depth: int) -> Accepts:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list) or not all(isinstance(name, str) and name in _TYPES for name in listed):
        raise _TooRich
    classes = frozenset(class_ for name in listed for class_ in _TYPES[name])
    return lambda value: type(value) in classes


def _enum(values: Any, _schema: Mapping[str, Any], _depth: int) -> Accepts:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _TooRich
    known = frozenset(values)
    return lambda value: type(value) is str and value in known


def _properties(properties: Any, _schema: Mapping[str, Any], depth: int) -> Accepts:
    if not isinstance(properties, dict):
        raise _TooRich
    tests = {name: _compile(subschema, depth - 1) for name, subschema in properties.items()}

    def accepts(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, item in value.items():
            test = tests.get(name)
            if test is not None and not test(item):
                return False
        return True

    return accepts


def _required(names: Any, _schema: Mapping[str, Any], _depth: int) -> Accepts:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _TooRich
    needed = frozenset(names)
    return lambda value: type(value) is dict and needed <= value.keys()


def _additional_properties(allowed: Any, schema: Mapping[str, Any], _depth: int) -> Accepts:
    properties = schema.get("properties", {})
    if not isinstance(allowed, bool) or not isinstance(properties, dict):
        raise _TooRich
    if allowed:
        return lambda _value: True
    known = frozenset(properties)
    return lambda value: type(value) is dict and value.keys() <= known


def _items(subschema: Any, _schema: Mapping[str, Any], depth: int) -> Accepts:
    test = _compile(subschema, depth - 1)
    return lambda value: type(value) is list and len(value) <= MAX_ITEMS and all(test(item) for item in value)


def _any_of(branches: Any, _schema: Mapping[str, Any], depth: int) -> Accepts:
    if not isinstance(branches, list) or not 0 < len(branches) <= MAX_BRANCHES:
        raise _TooRich
    tests = [_compile(branch, depth - 1) for branch in branches]
    return lambda value: any(test(value) for test in tests)


def _bound(classes: tuple[type, ...], holds: Callable[[Any, Any], bool]) -> _Compile:
    def compile_bound(limit: Any, _schema: Mapping[str, Any], _depth: int) -> Accepts:
        if type(limit) not in (int, float):
            raise _TooRich
        return lambda value: type(value) in classes and holds(value, limit)

    return compile_bound


_KEYWORDS: dict[str, _Compile] = {
    "type": _type,
    "enum": _enum,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional_properties,
    "items": _items,
    "anyOf": _any_of,
    "minimum": _bound((int, float), lambda value, limit: value >= limit),
    "maximum": _bound((int, float), lambda value, limit: value <= limit),
    "minLength": _bound((str,), lambda value, limit: len(value) >= limit),
    "maxLength": _bound((str,), lambda value, limit: len(value) <= limit),
    "minItems": _bound((list,), lambda value, limit: len(value) >= limit),
    "maxItems": _bound((list,), lambda value, limit: len(value) <= limit),
}
