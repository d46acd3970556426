"""Tools of a catalog whose definitions stay text until somebody looks into them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from toolcrib.model.clean_text import cleaned
from toolcrib.model.items import ItemKind
from toolcrib.model.tool import Tool

# So many definitions are kept decoded. Of thousands of tools only those that were found, shown or called are looked into.
DECODED_DEFINITIONS = 512
# How JSON text in ASCII writes what could hide or steer.
_CONTROL_SIGNS = (b"\\u", b"\\b", b"\\f", b"\\r", b"\x7f")


class _Named(msgspec.Struct):
    name: Any


_decode_name = msgspec.json.Decoder(_Named).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


class _Text(bytes):
    """The text of one tool, told apart from an equal one: whoever changes what it was given changes it for nobody else."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class JsonTool(Tool):
    """A tool as it lies in the catalog: its text takes a tenth of the memory and of the time that its decoded form does."""

    def __init__(self, server: str, name: str, text: _Text, fingerprint: str, kind: ItemKind = "tool") -> None:
        vars(self).update(server=server, name=name, text=text, fingerprint=fingerprint, kind=kind)

    @property
    def definition(self) -> Mapping[str, Any]:
        return _decoded(vars(self)["text"])

    @property
    def shown(self) -> Mapping[str, Any]:
        return _shown(vars(self)["text"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tool):
            return NotImplemented
        return (self.server, self.name, self.fingerprint) == (other.server, other.name, other.fingerprint)

    # Nobody can hash a tool with a decoded definition either.
    __hash__ = None  # type: ignore[assignment]


def read_tool(server: str, definition: str, fingerprint: str) -> JsonTool:
    """The tool a stored definition describes; raises `msgspec.DecodeError` for text that is none."""
    return JsonTool(server, str(_decode_name(definition).name), _Text(definition.encode()), fingerprint)


def read_item(server: str, kind: ItemKind, name: str, definition: str, fingerprint: str) -> JsonTool:
    """The same of what is no tool."""
    return JsonTool(server, name, _Text(definition.encode()), fingerprint, kind)


@lru_cache(maxsize=DECODED_DEFINITIONS)
def _decoded(text: _Text) -> Mapping[str, Any]:
    return _decode_object(text)


@lru_cache(maxsize=DECODED_DEFINITIONS)
def _shown(text: _Text) -> Mapping[str, Any]:
    definition = _decoded(text)
    # Of nearly every definition this tells that there is nothing to clean, in less than a microsecond.
    written = bytes(text)
    if written.isascii() and not any(sign in written for sign in _CONTROL_SIGNS):
        return definition
    shown: Mapping[str, Any] = cleaned(definition)
    return shown
