"""What servers say of their prompts and resources, as far as every client can read it.

Clients read a list as a whole: one odd member of one definition would cost them the prompts of all servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

_Text = str | UnsetType
_NAMES = ("name", "uri", "uriTemplate")


class _Icon(Struct, rename="camel"):
    src: str
    mime_type: _Text = UNSET
    sizes: list[str] | UnsetType = UNSET
    theme: Literal["light", "dark"] | UnsetType = UNSET


class _Annotations(Struct, rename="camel"):
    audience: list[Literal["user", "assistant"]] | UnsetType = UNSET
    priority: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    last_modified: _Text = UNSET


class _Argument(Struct):
    name: str
    title: _Text = UNSET
    description: _Text = UNSET
    required: bool | UnsetType = UNSET


class _Definition(Struct, rename="camel"):
    """The members that the protocol knows, of prompts, resources and templates alike."""

    title: _Text = UNSET
    description: _Text = UNSET
    mime_type: _Text = UNSET
    size: int | UnsetType = UNSET
    arguments: list[_Argument] | UnsetType = UNSET
    icons: list[_Icon] | UnsetType = UNSET
    annotations: _Annotations | UnsetType = UNSET
    meta: dict[str, Any] | UnsetType = msgspec.field(name="_meta", default=UNSET)


def readable_definition(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The definition as it is, where clients can read it; otherwise without the members that are no use to them."""
    if _fits(definition, _Definition):
        return definition
    given = definition.get("arguments")
    if isinstance(given, list):
        definition = {**definition, "arguments": [one for one in given if _fits(one, _Argument)]}
    return {name: value for name, value in definition.items() if name in _NAMES or _fits({name: value}, _Definition)}


def _fits(value: Any, kind: type[Struct]) -> bool:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True
