"""Text to capabilities, in the published spelling and in the older one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolcrib.rtfs.capability import Capability, Provider
from toolcrib.rtfs.forms import Form, ListForm, Literal, MapForm, Misplaced, Symbol, VectorForm
from toolcrib.rtfs.read_type import type_from
from toolcrib.rtfs.reader import places_in, read_forms, shown
from toolcrib.rtfs.spelling import form_text

_TEXTS = ("version", "name", "description")
_TYPES = ("input-schema", "output-schema")
_LISTS = ("domains", "categories", "permissions", "effects")
_PROVIDER_KEYS = {
    "type": "type",
    "server-url": "server_url",
    "server-endpoint": "server_url",
    "tool-name": "tool_name",
}


def read_capabilities(text: str) -> tuple[Capability, ...]:
    """Every capability of a file, those inside `(do …)` included; raises RtfsError with line and column."""
    with places_in(text):
        return tuple(_capability(form) for form in _capability_forms(read_forms(text)))


def _capability_forms(forms: Sequence[Form]) -> Iterator[ListForm]:
    for form in forms:
        head = form.items[0] if isinstance(form, ListForm) and form.items else None
        if isinstance(form, ListForm) and head == Symbol("capability"):
            yield form
        elif isinstance(form, ListForm) and head == Symbol("do"):
            yield from _capability_forms(form.items[1:])
        else:
            raise Misplaced(f"expected (capability …), found {shown(form_text(form))}", form.at)


def _capability(form: ListForm) -> Capability:
    if len(form.items) < 2:
        raise Misplaced("expected (capability ID :key value …)", form.at)
    fields: dict[str, Any] = {}
    others: dict[str, Form] = {}
    for key, value in _pairs(form.items[2:]):
        name = key.text.replace("_", "-")
        if name.replace("-", "_") in fields or key.text in others:
            raise Misplaced(f":{key.text} appears twice", key.at)
        if name in _TEXTS or name in _TYPES or name in _LISTS or name == "provider":
            fields[name.replace("-", "_")] = _field(name, value)
        else:
            others[key.text] = value
    return Capability(_text(form.items[1]), **fields, others=tuple(others.items()))


def _pairs(items: Sequence[Form]) -> Iterator[tuple[Literal, Form]]:
    for at in range(0, len(items), 2):
        key = items[at]
        if not isinstance(key, Literal) or key.kind != "keyword":
            raise Misplaced(f"expected a key such as :version, found {shown(form_text(key))}", key.at)
        if at + 1 == len(items):
            raise Misplaced(f":{key.text} has no value", key.at)
        yield key, items[at + 1]


def _field(name: str, value: Form) -> Any:
    if name in _TEXTS:
        return _text(value)
    if name in _TYPES:
        return type_from(value)
    return _provider(value) if name == "provider" else _texts(value)


def _text(form: Form) -> str:
    """A string or a keyword: which of the two it is depends on who wrote the file."""
    if isinstance(form, Literal) and form.kind in {"string", "keyword"}:
        return form.text
    raise Misplaced(f"expected a string or a keyword, found {shown(form_text(form))}", form.at)


def _texts(form: Form) -> tuple[str, ...]:
    if isinstance(form, VectorForm):
        return tuple(map(_text, form.items))
    raise Misplaced(f"expected a vector of strings, found {shown(form_text(form))}", form.at)


def _provider(form: Form) -> Provider:
    if not isinstance(form, MapForm) or len(form.items) % 2:
        raise Misplaced("expected a map such as {:type :mcp :server-url … :tool-name …}", form.at)
    fields: dict[str, str] = {}
    others: dict[Literal, Form] = {}
    for key, value in zip(form.items[::2], form.items[1::2], strict=True):
        if not isinstance(key, Literal) or key.kind not in {"keyword", "string", "int"}:
            raise Misplaced("a key of a map is a keyword, a string or a whole number", key.at)
        field = _PROVIDER_KEYS.get(key.text.replace("_", "-"), "") if key.kind != "int" else ""
        if key in others or field in fields:
            raise Misplaced(f"{form_text(key)} appears twice", key.at)
        if field:
            fields[field] = _text(value)
        else:
            others[key] = value
    return Provider(**fields, others=tuple(others.items()))
