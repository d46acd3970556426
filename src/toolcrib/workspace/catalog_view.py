"""The catalog as one configuration shows it: its servers, and their tools with the rules applied."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.store import ServerRecord
from toolcrib.model.address_spellings import spellings
from toolcrib.model.availability import ENABLED, Availability
from toolcrib.model.caller import EVERYTHING, LIBRARY, Caller
from toolcrib.model.items import RESOURCE, name_on_server
from toolcrib.model.learnt import LearntShape
from toolcrib.model.reading import Identity
from toolcrib.model.server import BUILT_IN_SERVER, DeclaredTool, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_naming import FALLBACK_TAG, fallback_tools, public_tool
from toolcrib.model.visible_tool import VisibleTool, VisibleTools
from toolcrib.rules.rulebook import RuleBook

log = logging.getLogger(__name__)

MOST_NAME_CHARACTERS = 64
NOTHING_REVIEWED: Mapping[str, Mapping[str, str]] = {}
CHANGED = Availability("changed", "its definition is another one now")
PENDING = Availability("pending", "its server offered it later")


@dataclass(frozen=True, slots=True)
class _Made:
    """The visible tools of a server, and what they were made from."""

    source: object
    tools: VisibleTools


class CatalogView:
    """Which servers and tools there are for whom; reads memory only, and belongs to the event loop."""

    def __init__(self, catalog: Catalog, *, built_in: Sequence[Tool] = ()) -> None:
        self.catalog = catalog
        self.built_in = tuple(built_in)
        self.specs: Mapping[str, ServerSpec] = {}
        self.rules = RuleBook(())
        self._reviewed: Mapping[str, Mapping[str, str]] = {}
        self.version = 0
        self._made: dict[str, _Made] = {}
        self._made_items: dict[str, _Made] = {}

    def configure(
        self,
        specs: Iterable[ServerSpec],
        rules: RuleBook,
        reviewed: Mapping[str, Mapping[str, str]] = NOTHING_REVIEWED,
    ) -> None:
        """Show another set of servers, or apply other rules.

        Of a server whose launch key is in `reviewed` only tools with these fingerprints can be used; of others all can.
        """
        self.specs = {spec.name: spec for spec in specs if spec.enabled}
        self.rules = rules
        self._reviewed = reviewed
        self.version += 1
        self._made.clear()
        self._made_items.clear()

    # -- servers

    def knows(self, server: str) -> bool:
        return server in self.specs or server == BUILT_IN_SERVER

    def record(self, server: str) -> ServerRecord | None:
        spec = self.specs.get(server)
        return None if spec is None else self.catalog.record(spec)

    def was_read(self, server: str) -> bool:
        spec = self.specs.get(server)
        return server == BUILT_IN_SERVER or (spec is not None and self.catalog.was_read(spec))

    def is_launched_differently(self, server: str) -> bool:
        """Whether a server's entry starts or contacts something else than what was met last time."""
        spec = self.specs.get(server)
        return spec is not None and self.catalog.is_launched_differently(spec)

    def broken(self, server: str) -> ServerRecord | None:
        """What is known of a server whose last reading failed, launched as it is now."""
        spec = self.specs.get(server)
        return None if spec is None else self.catalog.broken(spec)

    def unread(self) -> list[str]:
        """The servers whose tools nobody has read, because reading them failed."""
        found = ((name, self.record(name)) for name in self.specs)
        return [name for name, record in found if record is not None and record.read_at is None and record.error]

    def identity(self, server: str) -> Identity | None:
        """How this server introduced itself last time, if it is still launched the same way."""
        spec = self.specs.get(server)
        return None if spec is None else self.catalog.identity(spec)

    def own_name(self, server: str) -> str:
        """What a server called itself last time, in one short line; nothing where that is not known."""
        identity = self.identity(server)
        name = identity.server_info.get("name") if identity is not None else None
        return " ".join(name.split())[:MOST_NAME_CHARACTERS] if isinstance(name, str) else ""

    # -- tools

    def tools(self, server: str, caller: Caller = LIBRARY) -> VisibleTools:
        """The tools of a server by their public names, with those that may not be used."""
        tools = self._of_everybody(server)
        if caller.rights is EVERYTHING or server == BUILT_IN_SERVER:
            return tools
        return {name: _for_caller(visible, caller) for name, visible in tools.items()}

    def items(self, server: str, caller: Caller = LIBRARY) -> VisibleTools:
        """The prompts, resources and templates of a server by their names, with those that may not be used."""
        return {name: _for_caller(visible, caller) for name, visible in self._items_of_everybody(server).items()}

    def find(self, server: str, tool: str, caller: Caller = LIBRARY) -> VisibleTool | None:
        """The tool of that name, or what else a server has under it."""
        visible = self._of_everybody(server).get(tool) if self.knows(server) else None
        if visible is None:
            # Of a server that is called `prompt`, `prompt:x` is its tool x, or else its prompt of that name.
            items = self._items_of_everybody(server)
            visible = items.get(tool) or items.get(f"{server}:{tool}")
        return None if visible is None else _for_caller(visible, caller)

    def judged(self, tool: Tool, spec: ServerSpec, caller: Caller = LIBRARY) -> VisibleTool:
        """Something of a server that it did not list, as the rules and the caller's rights leave it."""
        return _for_caller(self._visible(tool, spec), caller)

    def is_denied(self, spec: ServerSpec, name: str) -> bool:
        """Whether a rule or the server's entry keeps the item of this name away, rather than only not allowing it."""
        decision = self.rules.decide(spec.name, name, is_item=True)
        return _is_listed(name, spec.deny_tools) or (decision.rule is not None and not decision.enabled)

    def tool_count(self) -> int:
        return sum(len(self._of_everybody(name)) for name in self.specs)

    def known_shape(self, visible: VisibleTool) -> LearntShape | None:
        """What was learnt of a tool's results under this very definition; asks the store, so not on the event loop."""
        if visible.spec is None:
            return None
        key, name = visible.spec.launch_key, visible.upstream_name
        return self.catalog.known_shape(key, name, visible.tool.fingerprint)

    @property
    def warnings(self) -> list[str]:
        """What the rules do that their author may not expect, over the tools known now."""
        offered = ((name, (*self.tools(name), *self.items(name))) for name in self.specs)
        return self.rules.check([(name, tool) for name, tools in offered for tool in tools])

    # -- inside

    def _of_everybody(self, server: str) -> VisibleTools:
        spec = self.specs.get(server)
        source = self._source(server, spec)
        made = self._made.get(server)
        if made is None or made.source != source:
            tools = {visible.tool.name: visible for visible in self._visible_tools(server, spec)}
            made = self._made[server] = _Made(source, tools)
        return made.tools

    def _items_of_everybody(self, server: str) -> VisibleTools:
        spec = self.specs.get(server)
        source = () if spec is None else self.catalog.items(spec)
        if spec is None or not source:
            return {}
        made = self._made_items.get(server)
        if made is None or made.source is not source:
            items = {one.name: self._visible(_named(one, spec), spec) for one in source}
            made = self._made_items[server] = _Made(source, items)
        return made.tools

    def _source(self, server: str, spec: ServerSpec | None) -> object:
        """Equal as long as the tools of a server are the same; cheap where they are."""
        if spec is None:
            return None
        return self.catalog.tools(spec), spec.contract and self.own_name(server), self._could_not_be_read(spec)

    def _visible_tools(self, server: str, spec: ServerSpec | None) -> Iterable[VisibleTool]:
        if spec is None:
            return [self._visible(tool, None) for tool in self.built_in] if server == BUILT_IN_SERVER else []
        known = self.catalog.tools(spec) or _declared(spec)
        if known or not self._could_not_be_read(spec):
            own_name = self.own_name(server) if spec.contract else ""
            return [self._visible(_named(tool, spec), spec, own_name) for tool in known]
        assumed = (self._visible(tool, spec) for tool in fallback_tools(spec))
        fallbacks = [_as_fallback(visible) for visible in assumed if visible.enabled]
        if fallbacks:
            log.warning("%s: its tools could not be read; fallback tools are offered instead", server)
        return fallbacks

    def _could_not_be_read(self, spec: ServerSpec) -> bool:
        record = self.catalog.record(spec)
        return record is not None and record.read_at is None and bool(record.error)

    def _visible(self, tool: Tool, spec: ServerSpec | None, own_name: str = "") -> VisibleTool:
        public = tool if spec is None else public_tool(tool, spec, own_name)
        decision = self.rules.decide(public.server, public.name, is_item=public.kind != "tool")
        refusal = _listed_off(spec, tool.name) or self._denied_otherwise(tool, spec)
        is_on = decision.enabled and not refusal
        availability = self._review(tool, spec) if is_on else Availability("disabled", refusal or decision.reason)
        return VisibleTool(public, name_on_server(tool.kind, tool.name), availability, decision.tags, spec)

    def _denied_otherwise(self, tool: Tool, spec: ServerSpec | None) -> str:
        """Why a resource may not be read whose address is another way to write one that is kept away; or nothing."""
        if spec is None or tool.kind != "resource":
            return ""
        others = spellings(name_on_server(tool.kind, tool.name))[1:]
        denied = next((uri for uri in others if self.is_denied(spec, f"{RESOURCE}{uri}")), None)
        return "" if denied is None else f"it is another way to write {denied}, which is off"

    def _review(self, tool: Tool, spec: ServerSpec | None) -> Availability:
        """Whether it is the tool that a person agreed to, where one had to."""
        pins = self._reviewed.get(spec.launch_key) if spec is not None else None
        if pins is None or pins.get(tool.name) == tool.fingerprint:
            return ENABLED
        return CHANGED if tool.name in pins else PENDING


def _for_caller(visible: VisibleTool, caller: Caller) -> VisibleTool:
    """The tool as the caller's rights leave it."""
    if caller.rights is EVERYTHING or visible.spec is None or not visible.enabled:
        return visible
    reason = caller.rights.refusal(visible.tool.server, visible.tags)
    return replace(visible, availability=Availability("disabled", reason)) if reason else visible


def _as_fallback(visible: VisibleTool) -> VisibleTool:
    availability = Availability("fallback", "its server could not be read")
    return replace(visible, availability=availability, tags=(*visible.tags, FALLBACK_TAG))


def _named(tool: Tool, spec: ServerSpec) -> Tool:
    """The tool under this entry's name for its server: another entry may have had it read."""
    return tool if tool.server == spec.name else tool.renamed(server=spec.name, name=tool.name)


def _declared(spec: ServerSpec) -> list[Tool]:
    """Tools named in the configuration, for a server that was never reached."""
    return [Tool.from_mcp(spec.name, _definition(declared)) for declared in spec.declared_tools]


def _definition(declared: DeclaredTool) -> Mapping[str, Any]:
    if declared.definition:
        return declared.definition
    schema = {"inputSchema": declared.input_schema} if declared.input_schema else {}
    return {"name": declared.name, "description": declared.description, **schema}


def _listed_off(spec: ServerSpec | None, name: str) -> str:
    """Why the server entry's own lists keep a tool away, or nothing."""
    if spec is None:
        return ""
    if _is_listed(name, spec.deny_tools):
        return "the server entry's denyTools names it"
    if spec.allow_tools is not None and not _is_listed(name, spec.allow_tools):
        return "the server entry's allowTools does not name it"
    return ""


def _is_listed(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the names or globs is this tool's; a name that looks like a glob is still its own name."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
