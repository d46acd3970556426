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
from toolcrib.model.caller import EVERYTHING, LIBRARY, Caller, Rights
from toolcrib.model.clean_text import clean
from toolcrib.model.finding import Finding
from toolcrib.model.items import RESOURCE, name_on_server
from toolcrib.model.learnt import LearntShape
from toolcrib.model.reading import Identity
from toolcrib.model.server import BUILT_IN_SERVER, DeclaredTool, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_naming import FALLBACK_TAG, fallback_tools, public_tool, shown_name
from toolcrib.model.visible_tool import VisibleTool, VisibleTools
from toolcrib.rules.rulebook import RuleBook
from toolcrib.scanner.beside import KnownNames, beside
from toolcrib.workspace.agreed import by_pins, by_review, with_agreed_words
from toolcrib.workspace.neighbours import Neighbours
from toolcrib.workspace.policy import MOST_RIGHTS, Decisions, decide

log = logging.getLogger(__name__)

MOST_NAME_CHARACTERS = 64
NOTHING_REVIEWED: Mapping[str, Mapping[str, str]] = {}


@dataclass(slots=True)
class _Made:
    """The visible tools of a server, what they were made from, and the version of the catalog that still had it."""

    version: int
    source: object
    tools: VisibleTools
    decisions: Decisions
    # Who has which tool, where something in these depended on it.
    names: KnownNames | None


class CatalogView:
    """Which servers and tools there are for whom; reads memory only, and belongs to the event loop."""

    def __init__(self, catalog: Catalog, *, built_in: Sequence[Tool] = ()) -> None:
        self.catalog = catalog
        self.built_in = tuple(built_in)
        self.specs: Mapping[str, ServerSpec] = {}
        self.rules = RuleBook(())
        self._reviewed: Mapping[str, Mapping[str, str]] = {}
        self.version = 0
        # The servers by the rights of those who may see them.
        self._shown: dict[Rights, Mapping[str, ServerSpec]] = {}
        self._made: dict[str, _Made] = {}
        self._made_items: dict[str, _Made] = {}
        self._identities: dict[str, tuple[object, Identity]] = {}
        self._neighbours = Neighbours(catalog)

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
        self._shown.clear()
        self._made.clear()
        self._made_items.clear()
        self._identities.clear()

    # -- servers

    def servers(self, caller: Caller = LIBRARY) -> Mapping[str, ServerSpec]:
        """The servers that there are for a caller, by their names."""
        if caller.rights is EVERYTHING:
            return self.specs
        shown = self._shown.get(caller.rights)
        if shown is None:
            if len(self._shown) >= MOST_RIGHTS:
                self._shown.clear()
            shown = {name: spec for name, spec in self.specs.items() if caller.rights.may_see(name)}
            self._shown[caller.rights] = shown
        return shown

    def spec_for(self, server: str, caller: Caller = LIBRARY) -> ServerSpec | None:
        """The entry of a server, if there is such a server for the caller."""
        return self.servers(caller).get(server)

    def knows(self, server: str, caller: Caller = LIBRARY) -> bool:
        return self.spec_for(server, caller) is not None or server == BUILT_IN_SERVER

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
        """How this server introduced itself last time, if it is still launched the same way; in words that were agreed to."""
        spec = self.specs.get(server)
        identity = None if spec is None else self.catalog.identity(spec)
        if spec is None or identity is None:
            return None
        source = identity, self.catalog.pins(spec)
        known = self._identities.get(server)
        if known is None or known[0] != source:
            known = self._identities[server] = source, with_agreed_words(*source)
        return known[1]

    def own_name(self, server: str) -> str:
        """What a server called itself last time, in one short line; nothing where that is not known."""
        identity = self.identity(server)
        name = identity.server_info.get("name") if identity is not None else None
        return clean(" ".join(name.split())[:MOST_NAME_CHARACTERS]) if isinstance(name, str) else ""

    # -- tools

    def tools(self, server: str, caller: Caller = LIBRARY) -> VisibleTools:
        """The tools that a server has for a caller by their public names, with those that nobody may use now."""
        return self._made_tools(server).decisions.there(caller.rights) if self.knows(server, caller) else {}

    def items(self, server: str, caller: Caller = LIBRARY) -> VisibleTools:
        """The prompts, resources and templates of a server by their names, with those that may not be used."""
        made = self._made_items_of(self.spec_for(server, caller))
        return {} if made is None else made.decisions.all(caller.rights)

    def find(self, server: str, tool: str, caller: Caller = LIBRARY) -> VisibleTool | None:
        """The tool of that name, or what else a server has under it."""
        if not self.knows(server, caller):
            return None
        visible = self._made_tools(server).decisions.one(tool, caller.rights)
        items = self._made_items_of(self.specs.get(server)) if visible is None else None
        if items is None:
            return visible
        # Of a server that is called `prompt`, `prompt:x` is its tool x, or else its prompt of that name.
        named = (items.decisions.one(name, caller.rights) for name in (tool, f"{server}:{tool}"))
        return next((one for one in named if one is not None), None)

    def judged(self, tool: Tool, spec: ServerSpec, caller: Caller = LIBRARY) -> VisibleTool:
        """Something of a server that it did not list, as the rules and the caller's rights leave it."""
        return decide(self._visible(tool, spec), caller.rights)

    def is_denied(self, spec: ServerSpec, name: str, rights: Rights = EVERYTHING) -> bool:
        """Whether a rule or the server's entry keeps the item of this name away, rather than only not allowing it."""
        decision = self.rules.decide(spec.name, name, is_item=True)
        is_ruled_out = decision.rule is not None and not decision.enabled
        return is_ruled_out or _is_listed(name, spec.deny_tools) or rights.denies(spec.name, name)

    def tool_count(self) -> int:
        return sum(len(self._made_tools(name).tools) for name in self.specs)

    def known_shape(self, visible: VisibleTool) -> LearntShape | None:
        """What was learnt of a tool's results under this very definition; asks the store, so not on the event loop."""
        if visible.spec is None:
            return None
        key, name = visible.spec.launch_key, visible.upstream_name
        return self.catalog.known_shape(key, name, visible.tool.fingerprint)

    def offered(self) -> dict[str, list[VisibleTool]]:
        """Everything that each server has, with what nobody may use."""
        return {name: [*self.tools(name).values(), *self.items(name).values()] for name in self.specs}

    def findings(self, server: str) -> list[tuple[str, Finding]]:
        """What is odd or hostile in what a server offers, by public name."""
        offered = [*self._made_tools(server).tools.values()] if self.knows(server) else []
        items = self._made_items_of(self.specs.get(server))
        offered += items.tools.values() if items is not None else ()
        return [(one.tool.name, finding) for one in offered for finding in self._found_in(one.tool, server)]

    # -- inside

    def _found_in(self, tool: Tool, server: str) -> tuple[Finding, ...]:
        """What was found in a definition, as far as it counts beside the other servers."""
        return tuple(beside(server, self.catalog.findings(tool.fingerprint), self._names))

    def _made_tools(self, server: str) -> _Made:
        """The tools of a server as they are for everybody; what rights make of them is kept with them."""
        made = self._made.get(server)
        if made is not None and made.version == self.catalog.version:
            return made
        spec = self.specs.get(server)
        source = self._source(server, spec)
        if made is None or made.source != source or self._is_outdated(made):
            tools = _by_name(self._visible_tools(server, spec))
            names = self._names_for(self.catalog.tools(spec)) if spec is not None else None
            made = self._made[server] = _Made(self.catalog.version, source, tools, Decisions(tools), names)
        made.version = self.catalog.version
        return made

    def _made_items_of(self, spec: ServerSpec | None) -> _Made | None:
        listed = () if spec is None else self.catalog.items(spec)
        if spec is None or not listed:
            return None
        made, source = self._made_items.get(spec.name), (listed, self.catalog.pins(spec))
        if made is None or made.source != source or self._is_outdated(made):
            items = _by_name(self._visible(_named(one, spec), spec) for one in listed)
            names = self._names_for(listed)
            made = self._made_items[spec.name] = _Made(self.catalog.version, source, items, Decisions(items), names)
        return made

    def _is_outdated(self, made: _Made) -> bool:
        """Whether other servers have other tools by now, and these depend on it."""
        return made.names is not None and made.names is not self._names()

    def _names_for(self, tools: Iterable[Tool]) -> KnownNames | None:
        findings = (finding for tool in tools for finding in self.catalog.findings(tool.fingerprint))
        return self._names() if any(finding.is_latent for finding in findings) else None

    def _names(self) -> KnownNames:
        return self._neighbours.names(self.specs)

    def _source(self, server: str, spec: ServerSpec | None) -> object:
        """Equal as long as the tools of a server are the same; cheap where they are."""
        if spec is None:
            return None
        told = spec.contract and self.own_name(server), self._could_not_be_read(spec)
        return self.catalog.tools(spec), self.catalog.pins(spec), *told

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
        refusal = _listed_off(spec, tool) or self._denied_otherwise(tool, spec)
        availability = self._review(tool, spec)
        if refusal or not decision.enabled:
            availability = Availability("disabled", refusal or decision.reason, availability.is_unreviewed)
        return VisibleTool(
            public, name_on_server(tool.kind, tool.name), availability, decision.tags, spec, decision.confirm
        )

    def _denied_otherwise(self, tool: Tool, spec: ServerSpec | None) -> str:
        """Why a resource may not be read whose address is another way to write one that is kept away; or nothing."""
        if spec is None or tool.kind != "resource":
            return ""
        shown, ways = shown_name(tool), spellings(name_on_server(tool.kind, tool.name))
        others = (uri for uri in ways if f"{RESOURCE}{uri}" != shown)
        denied = next((uri for uri in others if self.is_denied(spec, f"{RESOURCE}{uri}")), None)
        return "" if denied is None else f"it is another way to write {denied}, which is off"

    def _review(self, tool: Tool, spec: ServerSpec | None) -> Availability:
        """Whether it is what somebody agreed to."""
        if spec is None:
            return ENABLED
        findings = self._found_in(tool, spec.name)
        reviewed = self._reviewed.get(spec.launch_key)
        if reviewed is not None:
            return by_review(tool, reviewed, findings)
        # A server that lists no tools has those that its entry names, which are the person's own words.
        is_declared = tool.kind == "tool" and not self.catalog.tools(spec)
        return by_pins(tool, None if is_declared else self.catalog.pins(spec), findings)


def _by_name(made: Iterable[VisibleTool]) -> VisibleTools:
    """Of two that are shown under one name the first stays."""
    found: dict[str, VisibleTool] = {}
    for visible in made:
        found.setdefault(visible.tool.name, visible)
    return found


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


def _listed_off(spec: ServerSpec | None, tool: Tool) -> str:
    """Why the server entry's own lists keep a tool away, or nothing; they may have the name as it is or as it is shown."""
    if spec is None:
        return ""
    names = {tool.name, shown_name(tool)}
    if any(_is_listed(name, spec.deny_tools) for name in names):
        return "the server entry's denyTools names it"
    if spec.allow_tools is not None and not any(_is_listed(name, spec.allow_tools) for name in names):
        return "the server entry's allowTools does not name it"
    return ""


def _is_listed(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the names or globs is this tool's; a name that looks like a glob is still its own name."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
