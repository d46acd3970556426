"""The parameters of a tool, each in one plain line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.model.view import Parameter
from toolcrib.schema.shape import branches, members, resolved
from toolcrib.schema.type_writer import TypeWriter

DEFAULT_TYPE = "string"


def parameters(schema: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """What the tool takes: required parameters first, each group in alphabetical order."""
    found = members(schema, schema)
    ordered = sorted(found.properties, key=lambda name: (name not in found.required, name))
    return tuple(_parameter(name, found.properties[name], name in found.required, schema) for name in ordered)


def is_nested(schema: Mapping[str, Any]) -> bool:
    """Whether some parameter is an object with properties or a list of objects, so that a flat list hides its form."""
    return any(_has_form(value, schema) for value in members(schema, schema).properties.values())


def _parameter(name: str, schema: Any, required: bool, root: Mapping[str, Any]) -> Parameter:
    written = TypeWriter(root, depth=0, unopened_object="object").text(schema)
    return Parameter(name, DEFAULT_TYPE if written == "any" else written, _description(schema, root), required)


def _description(schema: Any, root: Mapping[str, Any]) -> str:
    whole = resolved(schema, root)
    texts = (whole.get(key) for key in ("description", "title"))
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


def _has_form(schema: Any, root: Mapping[str, Any]) -> bool:
    whole = resolved(schema, root)
    for form in (whole, *(resolved(branch, root) for branch in branches(whole))):
        items = resolved(form.get("items"), root)
        if members(form, root).properties or items.get("type") == "object" or members(items, root).properties:
            return True
    return False
