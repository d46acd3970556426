"""What the types of parameters do not say: bounds, defaults, and the descriptions of what is inside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.schema.shape import Schema, branches, description, listed, members, resolved

MAX_SCHEMAS = 400
MAX_DEPTH = 6
LONGEST_PATTERN = 60
LONGEST_DEFAULT = 80

# Keywords that types, bounds and descriptions tell in full, and those that ask nothing of a value.
_TOLD = frozenset(
    "type properties required items prefixItems anyOf oneOf allOf $ref $defs definitions enum const nullable"
    " additionalProperties minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format"
    " minItems maxItems uniqueItems default description title examples example deprecated readOnly writeOnly"
    " $schema $id $comment".split()
)
_SEPARATORS = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for one value besides its type; `default` is JSON, empty where there is none."""

    limits: str = ""
    default: str = ""


@dataclass
class FinePrint:
    """The terms of each parameter and the words for what is inside; `is_whole` is false where a schema says more."""

    terms: dict[str, Terms] = field(default_factory=dict)
    inner: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True


def fine_print(schema: Schema) -> FinePrint:
    """What is to be said of a tool's parameters besides their types and their own descriptions."""
    reader = _Reader(schema)
    reader.look_at(schema)
    for name, parameter in members(schema, schema).properties.items():
        opened = reader.opened(parameter)
        reader.found.terms[name] = reader.terms(opened)
        reader.read_inside(opened, name, 1)
    return reader.found


def telling(text: str, name: str) -> str:
    """A description that says more than the name does; generators write `Repo Path` for `repo_path`."""
    return "" if _words(text) == _words(name) else text


class _Reader:
    """Walks one schema, within limits."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = MAX_SCHEMAS
        self.found = FinePrint()

    def opened(self, schema: Any) -> Schema:
        """The schema that counts: references followed, `null` beside one other form left out."""
        whole = resolved(schema, self._root)
        self.look_at(whole)
        forms = [form for form in branches(whole) if not (isinstance(form, Mapping) and form.get("type") == "null")]
        if len(forms) != 1:
            return whole
        inner = resolved(forms[0], self._root)
        self.look_at(inner)
        return {**{key: value for key, value in whole.items() if key not in ("anyOf", "oneOf")}, **inner}

    def look_at(self, schema: Schema) -> None:
        """Note whether the schema asks for something that is not told."""
        self._left -= 1
        conditions = (form for key in ("anyOf", "oneOf", "allOf") for form in listed(schema, key))
        if self._left < 0 or not _TOLD.issuperset(schema) or any(_is_condition(form) for form in conditions):
            self.found.is_whole = False

    def terms(self, schema: Schema) -> Terms:
        default = _default(schema)
        pattern = schema.get("pattern")
        if len(default) > LONGEST_DEFAULT or (isinstance(pattern, str) and len(pattern) > LONGEST_PATTERN):
            self.found.is_whole = False
        return Terms(" ".join(_limits(schema)), default if len(default) <= LONGEST_DEFAULT else "")

    def read_inside(self, schema: Schema, path: str, depth: int) -> None:
        properties = members(schema, self._root).properties
        self._left -= len(properties)
        if self._left < 0 or depth > MAX_DEPTH:
            self.found.is_whole = False
            return
        for name, inner in properties.items():
            self._read_one(inner, f"{path}.{name}", str(name), depth)
        for mark, inner in (("[]", schema.get("items")), (".*", schema.get("additionalProperties"))):
            if isinstance(inner, Mapping) and inner:
                self._read_one(inner, f"{path}{mark}", "", depth)
        for form in branches(schema):
            self.read_inside(self.opened(form), path, depth + 1)

    def _read_one(self, schema: Any, path: str, name: str, depth: int) -> None:
        if self._left < 0:
            return
        opened = self.opened(schema)
        terms = self.terms(opened)
        said = telling(description(schema, self._root), name) if name else ""
        more = ", ".join(filter(None, (terms.limits, f"default {terms.default}" if terms.default else "")))
        text = f"{said} ({more})" if said and more else said or more
        if text:
            self.found.inner.setdefault(path, text)
        self.read_inside(opened, path, depth + 1)


def _is_condition(form: Any) -> bool:
    """Whether an alternative only says which properties go together."""
    return isinstance(form, Mapping) and "required" in form and "properties" not in form and "$ref" not in form


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _limits(schema: Schema) -> Iterator[str]:
    """`1..100`, `<=64 chars`, `date-time`: what the value must keep to."""
    if isinstance(shape := schema.get("format"), str):
        yield shape
    yield from _between(schema, "minimum", "maximum", "")
    for key, mark in (("exclusiveMinimum", ">"), ("exclusiveMaximum", "<")):
        if _is_number(schema.get(key)):
            yield f"{mark}{schema[key]}"
    if _is_number(schema.get("multipleOf")):
        yield f"multiple of {schema['multipleOf']}"
    yield from _between(schema, "minLength", "maxLength", " chars")
    yield from _between(schema, "minItems", "maxItems", " items")
    if schema.get("uniqueItems") is True:
        yield "unique"
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and len(pattern) <= LONGEST_PATTERN:
        yield f"/{pattern}/"


def _between(schema: Schema, least_key: str, most_key: str, unit: str) -> Iterator[str]:
    least, most = schema.get(least_key), schema.get(most_key)
    has_least = _is_number(least) and (least != 0 or not unit)
    if has_least and _is_number(most):
        yield f"{least}{unit}" if least == most else f"{least}..{most}{unit}"
    elif has_least:
        yield f">={least}{unit}"
    elif _is_number(most):
        yield f"<={most}{unit}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _SEPARATORS.split(text) if word]
