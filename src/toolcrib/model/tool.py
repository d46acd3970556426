"""A tool of a server, or anything else that is found and used like one, as the server defined it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolcrib.model.clean_name import clean_name
from toolcrib.model.clean_text import cleaned
from toolcrib.model.data_flow import DataFlow, data_flows_of
from toolcrib.model.effect import Effect, effect_of
from toolcrib.model.items import (
    ItemKind,
    item_annotations,
    item_description,
    item_name,
    item_schema,
    item_title,
)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
SUMMARY_CHARACTERS = 120


@dataclass(frozen=True)
class Tool:
    """One tool; `definition` is the server's own and is never rewritten. Other kinds read as if they were tools.

    What callers see of it is `shown`, and all that is read from here comes from it, but for `accepts` and `fingerprint`.
    """

    server: str
    name: str
    definition: Mapping[str, Any]
    kind: ItemKind = "tool"

    @classmethod
    def from_mcp(cls, server: str, definition: Mapping[str, Any]) -> Tool:
        """A tool from an entry of `tools/list`; the entry must carry a name."""
        return cls(server, str(definition["name"]), definition)

    @classmethod
    def item(cls, server: str, kind: ItemKind, definition: Mapping[str, Any]) -> Tool:
        """What a server lists besides its tools, under the name by which it is found."""
        return cls(server, item_name(kind, definition), definition, kind)

    @property
    def id(self) -> str:
        return f"{self.server}:{self.name}"

    def renamed(self, *, server: str, name: str) -> Tool:
        """The same definition under other names."""
        other = copy(self)
        vars(other).update(server=server, name=name)
        # What is told by the names is another question now, whether or not it was asked before.
        for told_by_names in ("effect", "data_flows"):
            vars(other).pop(told_by_names, None)
        return other

    @cached_property
    def shown(self) -> Mapping[str, Any]:
        """The definition without anything that hides or steers; the very same where there is nothing of the kind."""
        shown: Mapping[str, Any] = cleaned(self.definition)
        return shown

    @property
    def title(self) -> str:
        if self.kind != "tool":
            return item_title(self.shown)
        annotations = self._mapping("annotations")
        return _text(self.shown.get("title")) or _text(annotations.get("title"))

    @property
    def description(self) -> str:
        if self.kind != "tool":
            return item_description(self.kind, self.shown)
        return _text(self.shown.get("description"))

    @cached_property
    def summary(self) -> str:
        """The first sentence of the description, bounded."""
        return summarize(self.description or self.title)

    @property
    def input_schema(self) -> Mapping[str, Any]:
        return self._mapping("inputSchema") if self.kind == "tool" else item_schema(self.kind, self.shown)

    @property
    def accepts(self) -> Mapping[str, Any]:
        """The input schema to the letter, which arguments have to fit."""
        if self.kind != "tool":
            return item_schema(self.kind, self.definition)
        given = self.definition.get("inputSchema")
        return given if isinstance(given, Mapping) else {}

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the arguments that its schema has."""
        named = self.accepts.get("properties")
        return frozenset(named) if isinstance(named, Mapping) else frozenset()

    @property
    def output_schema(self) -> Mapping[str, Any]:
        return self._mapping("outputSchema")

    @property
    def annotations(self) -> Mapping[str, Any]:
        return self._mapping("annotations") if self.kind == "tool" else item_annotations()

    @cached_property
    def effect(self) -> Effect:
        """What a call of it may do, by the server's own name for it and its hints; the name given to it here does not count."""
        return (
            "read"
            if self.kind != "tool"
            else effect_of(clean_name(_text(self.definition.get("name"))), self.annotations, self.server)
        )

    @cached_property
    def data_flows(self) -> frozenset[DataFlow]:
        """What a call of it brings in, and whether it can carry something away."""
        parameters = self.accepts.get("properties")
        return data_flows_of(
            self.server, self.name, self.annotations, parameters if isinstance(parameters, Mapping) else {}
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the whole definition, independent of key order."""
        text = json.dumps(self.definition, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self.shown.get(key)
        return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A search hit; `relevance` is in 0..1."""

    tool: Tool
    relevance: float


def split_id(server: str, tool: str) -> tuple[str, str]:
    """Accept `server:tool` in place of a tool name."""
    before, colon, after = tool.partition(":")
    if colon and after and (not server or before == server):
        return before, after
    return server, tool


def summarize(text: str, limit: int = SUMMARY_CHARACTERS) -> str:
    """The first sentence or line, cut at a word when longer than `limit` characters."""
    first = _SENTENCE_END.split(text.strip(), maxsplit=1)[0].strip()
    if len(first) <= limit:
        return first
    return first[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
