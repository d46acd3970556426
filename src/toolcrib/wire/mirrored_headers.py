"""HTTP headers of the modern era that repeat parts of a request, for those on the way who do not read bodies."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

_ANNOTATION = "x-mcp-header"
_PREFIX = "Mcp-Param-"
_PRINTABLE = re.compile(r"[ -~]*")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_MIRRORED_TYPES = frozenset({"string", "integer", "boolean"})
# The keywords of JSON Schema behind which there are further schemas.
_HOLDS_SCHEMA = frozenset(
    "items contains unevaluatedItems additionalProperties propertyNames unevaluatedProperties not if then else contentSchema".split()
)
_LISTS_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMES_SCHEMAS = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})
# What HTTP allows as the name of a field; a server's schema may say anything.
_FIELD_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


_Path = tuple[str, ...]


def header_value(text: str) -> str:
    """The text as a header can carry it: itself where that is safe, else in base64 and marked so."""
    if _PRINTABLE.fullmatch(text) and text == text.strip() and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def argument_headers(schema: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Those arguments that the tool's schema wants repeated as headers, where they are given and are plain values."""
    headers = {}
    for path, part in _positions(schema):
        name = part.get(_ANNOTATION)
        if path and isinstance(name, str) and _FIELD_NAME.fullmatch(name):
            text = _as_text(_at(arguments, path))
            if text is not None:
                headers[f"{_PREFIX}{name}"] = header_value(text)
    return headers


def annotation_problem(schema: Any) -> str:
    """Why a tool with this schema may not be offered in the modern era, or nothing; the protocol asks clients to leave it out."""
    names: set[str] = set()
    for path, part in _positions(schema):
        if _ANNOTATION not in part:
            continue
        problem = _problem_at(path, part)
        if problem:
            return problem
        name = part[_ANNOTATION].lower()
        if name in names:
            return f"two properties have the {_ANNOTATION} {part[_ANNOTATION]!r}"
        names.add(name)
    return ""


def _problem_at(path: _Path | None, part: Mapping[str, Any]) -> str:
    name, kind = part[_ANNOTATION], part.get("type")
    if not path:
        return f"{_ANNOTATION} is where a chain of properties does not always lead"
    if not isinstance(name, str) or not _FIELD_NAME.fullmatch(name):
        return f"the {_ANNOTATION} of {'.'.join(path)!r} is not the name of an HTTP header"
    if not isinstance(kind, str) or kind not in _MIRRORED_TYPES:
        return f"the {_ANNOTATION} of {'.'.join(path)!r} is on a property that is not a string, integer or boolean"
    return ""


def _positions(schema: Any) -> Iterator[tuple[_Path | None, Mapping[str, Any]]]:
    """Every schema in a schema; with its chain of properties, or None where it is not there whatever the arguments are."""
    waiting: list[tuple[_Path | None, Any]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if not isinstance(part, Mapping):
            continue
        yield path, part
        for keyword, value in part.items():
            if keyword == "properties" and isinstance(value, Mapping):
                waiting.extend((None if path is None else (*path, key), inner) for key, inner in value.items())
            elif keyword in _HOLDS_SCHEMA:
                waiting.append((None, value))
            elif keyword in _LISTS_SCHEMAS and isinstance(value, list):
                waiting.extend((None, inner) for inner in value)
            elif keyword in _NAMES_SCHEMAS and isinstance(value, Mapping):
                waiting.extend((None, inner) for inner in value.values())


def _at(arguments: Any, path: tuple[str, ...]) -> Any:
    value = arguments
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        return None
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return None
