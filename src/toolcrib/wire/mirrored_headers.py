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
# What HTTP allows as the name of a field; a server's schema may say anything.
_FIELD_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def header_value(text: str) -> str:
    """The text as a header can carry it: itself where that is safe, else in base64 and marked so."""
    if _PRINTABLE.fullmatch(text) and text == text.strip() and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def argument_headers(schema: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Those arguments that the tool's schema wants repeated as headers, where they are given and are plain values."""
    headers = {}
    for path, name in _annotated(schema):
        text = _as_text(_at(arguments, path))
        if text is not None:
            headers[f"{_PREFIX}{name}"] = header_value(text)
    return headers


def _annotated(schema: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """The properties with a header of their own; only those that are there whatever the other arguments are."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if not isinstance(part, Mapping):
            continue
        name = part.get(_ANNOTATION)
        if path and isinstance(name, str) and _FIELD_NAME.fullmatch(name):
            yield path, name
        properties = part.get("properties")
        if isinstance(properties, Mapping):
            waiting.extend(((*path, key), value) for key, value in properties.items())


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
