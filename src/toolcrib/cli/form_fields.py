"""The fields of a form that a server wants filled in: what a person is shown of each, and what their words mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib.model.clean_text import clean

_YES, _NO = frozenset({"y", "yes", "true"}), frozenset({"n", "no", "false"})


class NotAnAnswer(Exception):
    """Why the words can't be taken, for the person who wrote them."""


Choice = tuple[Any, str]
"""(value, name)"""


def choices_of(schema: Mapping[str, Any]) -> list[Choice]:
    """What may be chosen, in a field of one value or of several; none where anything may be written."""
    items = schema.get("items")
    fixed = items if isinstance(items, Mapping) else schema
    for key in ("oneOf", "anyOf"):
        if isinstance(options := fixed.get(key), list):
            named = [one for one in options if isinstance(one, Mapping) and "const" in one]
            return [(one["const"], clean(str(one.get("title") or one["const"]))) for one in named]
    values = fixed.get("enum")
    if not isinstance(values, list):
        return []
    names = fixed.get("enumNames")
    shown = names if isinstance(names, list) and len(names) == len(values) else values
    return [(value, clean(str(name))) for value, name in zip(values, shown, strict=True)]


def label_of(name: str, schema: Mapping[str, Any], *, required: bool) -> str:
    """The question, on one line."""
    words = clean(str(schema.get("title") or name))
    if schema.get("description"):
        words += f" ({clean(str(schema['description']))})"
    kind = schema.get("type")
    hints = ["yes or no"] if kind == "boolean" else []
    hints += ["several with commas"] if kind == "array" else []
    if "default" in schema:
        hints.append(f"Enter for {clean(_written(schema['default']))}")
    elif not required:
        hints.append("Enter to leave it out")
    return f"{words} [{'; '.join(hints)}]: " if hints else f"{words}: "


def value_of(text: str, schema: Mapping[str, Any]) -> Any:
    """The value that a person has written; raises NotAnAnswer."""
    kind, choices = schema.get("type"), choices_of(schema)
    if kind == "array":
        return [_chosen(one.strip(), choices) for one in text.split(",") if one.strip()]
    if choices:
        return _chosen(text, choices)
    if kind == "boolean":
        return _yes_or_no(text)
    if kind in ("integer", "number"):
        return _number(text, schema, is_whole=kind == "integer")
    return _bounded_text(text, schema)


def _written(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return ", ".join(map(str, default)) if isinstance(default, list) else str(default)


def _chosen(text: str, choices: Sequence[Choice]) -> Any:
    for number, (value, name) in enumerate(choices, 1):
        if text in (str(number), str(value), name):
            return value
    for value, words in _yes_and_no(choices):
        if text.lower() in words:
            return value
    raise NotAnAnswer(f"Choose one of the numbers from 1 to {len(choices)}.")


def _yes_and_no(choices: Sequence[Choice]) -> list[tuple[Any, frozenset[str]]]:
    """What else may be written where one of the choices is no: that, and yes where there is one other."""
    refusals = [value for value, name in choices if {str(value).lower(), name.lower()} & _NO]
    others = [value for value, _ in choices if value not in refusals]
    if len(refusals) != 1:
        return []
    return [(refusals[0], _NO), *([(others[0], _YES)] if len(others) == 1 else [])]


def _yes_or_no(text: str) -> bool:
    if text.lower() not in _YES | _NO:
        raise NotAnAnswer("Write yes or no.")
    return text.lower() in _YES


def _number(text: str, schema: Mapping[str, Any], *, is_whole: bool) -> float:
    try:
        number = int(text) if is_whole else float(text)
    except ValueError:
        raise NotAnAnswer("Write a whole number." if is_whole else "Write a number.") from None
    least, most = _bound(schema, "minimum"), _bound(schema, "maximum")
    if not math.isfinite(number) or (least is not None and number < least) or (most is not None and number > most):
        bounds = [f"from {least:g}"] if least is not None else []
        bounds += [f"up to {most:g}"] if most is not None else []
        raise NotAnAnswer(f"{' '.join(['Write a number', *bounds])}.")
    return number


def _bounded_text(text: str, schema: Mapping[str, Any]) -> str:
    least, most = _bound(schema, "minLength"), _bound(schema, "maxLength")
    if least is not None and len(text) < least:
        raise NotAnAnswer(f"Write at least {least:g} characters.")
    if most is not None and len(text) > most:
        raise NotAnAnswer(f"Write at most {most:g} characters.")
    return text


def _bound(schema: Mapping[str, Any], key: str) -> float | None:
    value = schema.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
