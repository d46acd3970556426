"""What servers offer besides tools: prompts, resources and templates of resources, each found and used like a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from toolcrib.model.uri_template import OddTemplate, variables

ItemKind = Literal["tool", "prompt", "resource", "template"]
ITEM_KINDS: Final[tuple[ItemKind, ...]] = ("prompt", "resource", "template")
PROMPT: Final = "prompt:"
RESOURCE: Final = "resource:"
ITEM_PREFIXES: Final = (PROMPT, RESOURCE)
# Longer addresses are read by `toolcrib:read_resource` only: nobody types or reads them as a name.
MOST_NAME_CHARACTERS = 512

_NAMED_BY: Mapping[ItemKind, tuple[str, str]] = {
    "tool": ("", "name"),
    "prompt": (PROMPT, "name"),
    "resource": (RESOURCE, "uri"),
    "template": (RESOURCE, "uriTemplate"),
}
_READING = {"readOnlyHint": True, "idempotentHint": True}
_encode = msgspec.json.Encoder().encode


def own_name(kind: ItemKind, definition: Mapping[str, Any]) -> str:
    """What the server calls an item: a name, an address or a template; empty where it says none."""
    given = definition.get(_NAMED_BY[kind][1])
    return given if isinstance(given, str) else ""


def item_name(kind: ItemKind, definition: Mapping[str, Any]) -> str:
    """The name under which an item is found and used: `prompt:review`, `resource:file:///a`, `resource:db://{table}`."""
    return f"{_NAMED_BY[kind][0]}{own_name(kind, definition)}"


def item_title(definition: Mapping[str, Any]) -> str:
    return _text(definition, "title") or _text(definition, "name")


def item_description(kind: ItemKind, definition: Mapping[str, Any]) -> str:
    """What the server says about an item; of a resource that says nothing, its title and what it holds."""
    said = _text(definition, "description")
    if said or kind == "prompt":
        return said
    holds = _text(definition, "mimeType")
    return f"{item_title(definition)} ({holds})" if holds else item_title(definition)


def item_schema(kind: ItemKind, definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an item takes, as the schema of an object of texts."""
    if kind == "prompt":
        return _prompt_schema(definition.get("arguments"))
    required = _template_variables(definition) if kind == "template" else {}
    properties = {name: {"type": "string"} for name in required}
    return _object_of(properties, [name for name, is_needed in required.items() if is_needed])


def item_annotations() -> Mapping[str, Any]:
    """To read something or to get a prompt changes nothing, so it may be tried again."""
    return _READING


def name_on_server(kind: ItemKind, name: str) -> str:
    """What the server calls the item that is found under this name."""
    return name.removeprefix(_NAMED_BY[kind][0])


def request_of(kind: ItemKind, name: str, raw_arguments: bytes) -> tuple[str, bytes]:
    """The method and the members of its parameters by which a server gives what it calls `name`."""
    if kind == "resource":
        return "resources/read", b'"uri":%b' % _encode(name)
    method = "prompts/get" if kind == "prompt" else "tools/call"
    return method, b'"name":%b,"arguments":%b' % (_encode(name), raw_arguments)


def _prompt_schema(arguments: object) -> Mapping[str, Any]:
    named = [one for one in arguments if _is_named(one)] if isinstance(arguments, list) else []
    properties = {one["name"]: _text_property(one) for one in named}
    return _object_of(properties, [one["name"] for one in named if one.get("required") is True])


def _text_property(argument: Mapping[str, Any]) -> Mapping[str, Any]:
    said = _text(argument, "description") or _text(argument, "title")
    return {"type": "string", "description": said} if said else {"type": "string"}


def _template_variables(definition: Mapping[str, Any]) -> Mapping[str, bool]:
    try:
        return variables(own_name("template", definition))
    except OddTemplate:
        return {}


def _object_of(properties: Mapping[str, Any], required: list[str]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _is_named(argument: object) -> bool:
    return isinstance(argument, Mapping) and isinstance(argument.get("name"), str)


def _text(definition: Mapping[str, Any], key: str) -> str:
    value = definition.get(key)
    return value if isinstance(value, str) else ""
