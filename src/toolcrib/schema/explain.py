"""Says in few words what is wrong with an argument; values are never repeated, they may be secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from jsonschema import ValidationError
from jsonschema.exceptions import best_match

from toolcrib.errors import Problem
from toolcrib.schema.type_names import type_name

NAME_CHARACTERS = 40
NAMES_SHOWN = 8
COMPARED_NAMES = 200

# Errors are taken as Any below: the library types their fields so loosely that no check of types would pass.
_PLAIN_NAME = re.compile(r"[^\W\d][\w$-]*")


def explain(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    """Problems worth reading, each once: the field and why it does not fit."""
    seen: set[Problem] = set()
    for error in errors:
        for problem in _problems(error):
            if problem not in seen:
                seen.add(problem)
                yield problem


def _problems(error: Any) -> Iterator[Problem]:
    where = list(error.absolute_path)
    value, instance = error.validator_value, error.instance
    if error.validator == "required" and isinstance(value, list):
        for name in value:
            if name not in instance:
                yield Problem(_path([*where, name]), "required, but missing")
    elif error.validator in ("additionalProperties", "unevaluatedProperties") and value is False:
        for name in _unexpected(error):
            yield Problem(_path([*where, name]), f"unexpected{_suggestion(name, error.schema, instance)}")
    elif error.validator in ("anyOf", "oneOf") and error.context:
        yield from _alternatives(error)
    else:
        yield Problem(_path(where), _reason(error))


def _alternatives(error: Any) -> Iterator[Problem]:
    """The nearest miss among the allowed forms, or the union of types when it is only that."""
    context = error.context or []
    if all(child.validator == "type" and not child.relative_path for child in context):
        expected = dict.fromkeys(name for child in context for name in _names(child.validator_value))
        yield Problem(_path(error.absolute_path), _wrong_type(expected, error.instance))
        return
    nearest = best_match(iter([error]))
    if nearest is None or nearest is error:
        yield Problem(_path(error.absolute_path), f"fits none of the {len(error.validator_value)} allowed forms")
    else:
        yield from _problems(nearest)


def _reason(error: Any) -> str:
    if error.validator is None:
        return "holds something that is not allowed"  # the library does not say where
    describe = _REASONS.get(str(error.validator))
    return describe(error) if describe else f"does not fit {str(error.validator)[:NAME_CHARACTERS]}"


def _wrong_type(expected: Iterable[str], found: Any) -> str:
    return f"expected {' or '.join(expected)}, found {type_name(found)}"


def _names(types: Any) -> list[str]:
    return [str(name) for name in (types if isinstance(types, list) else [types])]


def _limit(text: str) -> Callable[[Any], str]:
    return lambda error: text.format(_shown(error.validator_value))


_REASONS: dict[str, Callable[[Any], str]] = {
    "type": lambda error: _wrong_type(_names(error.validator_value), error.instance),
    "enum": lambda error: f"must be one of {_listed(map(_shown, error.validator_value))}",
    "const": _limit("must be {}"),
    "minimum": _limit("must be at least {}"),
    "maximum": _limit("must be at most {}"),
    "exclusiveMinimum": _limit("must be more than {}"),
    "exclusiveMaximum": _limit("must be less than {}"),
    "multipleOf": _limit("must be a multiple of {}"),
    "minLength": _limit("must have at least {} characters"),
    "maxLength": _limit("must have at most {} characters"),
    "minItems": _limit("must have at least {} items"),
    "maxItems": _limit("must have at most {} items"),
    "minProperties": _limit("must have at least {} properties"),
    "maxProperties": _limit("must have at most {} properties"),
    "pattern": _limit("must match the pattern {}"),
    "uniqueItems": lambda _error: "items must not repeat",
    "oneOf": lambda _error: "fits more than one of the allowed forms",
    "not": lambda _error: "has a form that is not allowed",
    "dependentRequired": lambda error: f"lacks {_listed(_missing_partners(error))}",
}


def _missing_partners(error: Any) -> list[str]:
    needed = [name for given, names in error.validator_value.items() if given in error.instance for name in names]
    return [_shown(name) for name in dict.fromkeys(needed) if name not in error.instance]


def _unexpected(error: Any) -> Iterator[str]:
    """The names the schema does not know; the message is asked because other keywords may have allowed some."""
    known = error.schema.get("properties", {})
    return (name for name in error.instance if name not in known and repr(name) in error.message)


def _suggestion(name: str, schema: Any, given: Mapping[str, Any]) -> str:
    known = list(schema.get("properties", {}))[:COMPARED_NAMES] if isinstance(schema, Mapping) else []
    free = [candidate for candidate in known if candidate not in given]
    near = get_close_matches(name, free, n=1) if len(name) <= NAME_CHARACTERS else []
    if near:
        return f"; did you mean {_shown(near[0])}?"
    return f"; known are {_listed(map(_shown, known))}" if known else ""


def _listed(texts: Iterable[str]) -> str:
    listed = list(texts)
    rest = len(listed) - NAMES_SHOWN
    return ", ".join(listed[:NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _shown(value: Any) -> str:
    """A value of the schema as JSON, cut when long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= NAME_CHARACTERS else f"{text[: NAME_CHARACTERS - 1]}…"


def _path(steps: Iterable[Any]) -> str:
    """The way to a field, as `labels[0].name`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif _PLAIN_NAME.fullmatch(step) and len(step) <= NAME_CHARACTERS:
            path += f".{step}" if path else step
        else:
            path += f"[{_shown(step)}]"
    return path
