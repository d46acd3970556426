"""JSON Schema validators that come to an end: each keyword pays from a budget, and nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from jsonschema import ValidationError, validators
from referencing import Registry

from toolcrib.schema.bounds import refuse_unbounded
from toolcrib.schema.budget import Budget, Unusable

REFERENCE_STEPS = 4

Keyword = Callable[..., Iterator[ValidationError] | None]

_extend: Any = validators.extend
_budget: ContextVar[Budget] = ContextVar("schema_budget")
_DIALECTS: dict[str, Any] = {
    "http://json-schema.org/draft-03/schema": validators.Draft3Validator,
    "http://json-schema.org/draft-04/schema": validators.Draft4Validator,
    "http://json-schema.org/draft-06/schema": validators.Draft6Validator,
    "http://json-schema.org/draft-07/schema": validators.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": validators.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": validators.Draft202012Validator,
}
_NEWER_KEYWORDS = {
    "$defs": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "prefixItems": {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
    "dependentSchemas": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "dependentRequired": {"type": "object", "additionalProperties": {"$ref": "#/definitions/stringArray"}},
    "unevaluatedItems": {"$ref": "#"},
    "unevaluatedProperties": {"$ref": "#"},
    "minContains": {"$ref": "#/definitions/nonNegativeInteger"},
    "maxContains": {"$ref": "#/definitions/nonNegativeInteger"},
}


class BoundedValidator:
    """One schema, compiled; raises Unusable where it is too large or reaches outside itself."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        refuse_unbounded(schema)
        self._dialect = _dialect(schema)
        # Without its `$schema` no part of it can switch back to an unbounded validator.
        self._schema = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}

    def errors(self, instance: Any, budget: Budget, limit: int) -> list[ValidationError]:
        """The first things wrong with the instance; raises Unusable when the budget does not last."""
        with _paid_by(budget):
            return list(islice(self._validator.iter_errors(instance), limit))

    def flaw(self, budget: Budget) -> str:
        """What is wrong with the schema itself, or nothing."""
        with _paid_by(budget):
            error = next(_meta_validator(self._dialect).iter_errors(self._schema), None)
        return "" if error is None else f"its {'.'.join(map(str, error.absolute_path)) or 'root'} is malformed"

    @cached_property
    def _validator(self) -> Any:
        return _bounded_class(self._dialect)(self._schema, registry=Registry())


@contextmanager
def _paid_by(budget: Budget) -> Iterator[None]:
    """Let keywords pay from this budget, and turn whatever the library raises into Unusable."""
    token = _budget.set(budget)
    try:
        yield
    except Unusable:
        raise
    except RecursionError:
        raise Unusable("the schema refers to itself without end") from None
    except Exception as error:  # a malformed schema can make the library raise anything
        raise Unusable(f"the schema cannot be used ({type(error).__name__})") from error
    finally:
        _budget.reset(token)


def _dialect(schema: Mapping[str, Any]) -> Any:
    named = schema.get("$schema")
    found = _DIALECTS.get(named.rstrip("#")) if isinstance(named, str) else None
    return found or validators.Draft202012Validator


@lru_cache(maxsize=8)
def _bounded_class(dialect: Any) -> Any:
    keywords = {
        **dialect.VALIDATORS,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties(dialect.VALIDATORS["additionalProperties"]),
        "uniqueItems": _unique_items,
    }
    return _extend(dialect, {name: _paid(name, keyword) for name, keyword in keywords.items()})


@lru_cache(maxsize=8)
def _meta_validator(dialect: Any) -> Any:
    """Checks schemas: by the dialect's own meta-schema, or for the newer ones, split over files, draft 7's and more."""
    meta_schema = dialect.META_SCHEMA
    if "allOf" in meta_schema:
        draft_7 = validators.Draft7Validator.META_SCHEMA
        meta_schema = {**draft_7, "properties": {**draft_7["properties"], **_NEWER_KEYWORDS}}
    closed = {key: value for key, value in meta_schema.items() if key not in ("$schema", "$id", "id")}
    return _bounded_class(dialect)(closed, registry=Registry())


def _paid(name: str, keyword: Keyword) -> Keyword:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        budget = _budget.get()
        size = len(instance) if isinstance(instance, (dict, list)) else 0
        budget.spend(1 + (len(value) if isinstance(value, (dict, list)) else 0) // 8 + size // 8)
        budget.spend(_extra_cost(name, size))
        for error in keyword(validator, value, instance, schema) or ():
            budget.spend(_weight(instance) + _weight(value))  # each error carries a printed copy of both
            yield error

    return run


def _extra_cost(name: str, size: int) -> int:
    if name.startswith("unevaluated"):
        return size * size // 64  # the library looks each item up in a list
    return REFERENCE_STEPS if name.endswith("Ref") or name == "$ref" else 0


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return 1 + len(value) // 64
    if isinstance(value, dict):
        return 1 + sum(map(_weight, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_weight, value))
    return 1


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _budget.get().search(pattern, instance):
        yield ValidationError("does not match the pattern")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if _budget.get().search(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(original: Keyword) -> Keyword:
    def run(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        patterns = schema.get("patternProperties")
        if not patterns or not validator.is_type(instance, "object"):
            yield from original(validator, additional, instance, schema) or ()
            return
        search = _budget.get().search
        rest = {name: value for name, value in instance.items() if not any(search(p, name) for p in patterns)}
        yield from original(validator, additional, rest, {"properties": schema.get("properties", {})}) or ()

    return run


def _unique_items(validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not unique or not validator.is_type(instance, "array"):
        return
    _budget.get().spend(_weight(instance))
    if len({_comparable(item) for item in instance}) < len(instance):
        yield ValidationError("items repeat")


def _comparable(value: Any) -> Any:
    """A hashable stand-in that is equal where JSON Schema calls two values equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return ("object", frozenset((name, _comparable(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(_comparable, value)))
    return ("boolean", value) if isinstance(value, bool) else value
