"""What stands behind the counter: servers and tools from the catalog, with the rules applied."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib.catalog.freshness import Freshness
from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.catalog.ttl_cache import TtlCache
from toolcrib.ccos.contracts import FALLBACK_TAG, fallback_tools, public_tool
from toolcrib.errors import StoreUnavailable
from toolcrib.model.learnt import LearntShape
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import BUILT_IN_SERVER, DeclaredTool, ServerSpec
from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.rules.rulebook import RuleBook
from toolcrib.workspace.search_index import SearchIndex

if TYPE_CHECKING:  # only names of types: see `SearchIndex`
    from toolcrib.search.explain import Explanation
    from toolcrib.search.index import ToolIndex

log = logging.getLogger(__name__)

MOST_NAME_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class VisibleTool:
    """A tool as callers meet it: its public name, whether rules let it run, and its tags.

    A fallback stands in for a tool of an external endpoint that could not be read; no search finds it.
    """

    tool: Tool
    upstream_name: str
    enabled: bool
    tags: tuple[str, ...] = ()
    reason: str = ""
    is_fallback: bool = False


VisibleTools = Mapping[str, VisibleTool]
Passes = Callable[[VisibleTool], bool]


class CatalogView:
    """The catalog as this gateway's configuration shows it; reads from disk on first need and keeps it for a time.

    Not thread-safe: everything but `save` and `save_failure` belongs to the event loop.
    """

    def __init__(
        self,
        store: CatalogStore,
        *,
        now: Callable[[], float],
        cache_seconds: float,
        freshness: Freshness,
        built_in: Sequence[Tool] = (),
        index_path: Path | None = None,
        max_indexed: int = 100_000,
        max_enabled: int = 10_000,
    ) -> None:
        self._store = store
        self._now = now
        self._freshness = freshness
        self._built_in = tuple(built_in)
        self._max_enabled = max_enabled
        self._specs: dict[str, ServerSpec] = {}
        self._rules = RuleBook(())
        self._visible_tools: TtlCache[str, VisibleTools] = TtlCache(cache_seconds, now)
        self._records: TtlCache[str, dict[str, ServerRecord]] = TtlCache(cache_seconds, now)
        self._search_index = SearchIndex(store, path=index_path, tags=self._tags, max_tools=max_indexed)
        self._unindexed: deque[str] = deque()
        # Whether the servers that left have made room in the index for those that came.
        self._has_room = False
        self._on_change: Callable[[], None] = lambda: None
        self._seen_change = -1
        self._read_marks: dict[str, float | str | None] = {}

    # -- configuration

    def configure(self, specs: Iterable[ServerSpec], rules: RuleBook) -> None:
        """Show another set of servers or apply other rules; everything cached is dropped."""
        self._specs = {spec.name: spec for spec in specs if spec.enabled}
        self._rules = rules
        self.invalidate()

    def retime(self, cache_seconds: float, freshness: Freshness, *, max_indexed: int, max_enabled: int) -> None:
        """Take over other times and limits; the next `configure` applies them to what is cached."""
        self._visible_tools.ttl_seconds = self._records.ttl_seconds = cache_seconds
        self._freshness = freshness
        self._search_index.max_tools = max_indexed
        self._max_enabled = max_enabled

    def invalidate(self, server: str | None = None) -> None:
        """Forget what is cached of one server, or of all; the search index takes over what changed."""
        self._records.invalidate()
        self._visible_tools.invalidate(server)
        if server is None:
            self._unindexed = deque((*self._specs, BUILT_IN_SERVER))
            self._has_room = False
        elif server not in self._unindexed:
            self._unindexed.append(server)
        self._on_change()

    def call_on_change(self, on_change: Callable[[], None]) -> None:
        """Be told when there are tools to index and to learn."""
        self._on_change = on_change

    def drop_tools(self, server: str) -> None:
        """Look the tools of a server up in the catalog again at the next need; the search index stays."""
        self._visible_tools.invalidate(server)

    @property
    def specs(self) -> Mapping[str, ServerSpec]:
        return self._specs

    @property
    def warnings(self) -> list[str]:
        """What the rules do that their author may not expect, over the tools known now."""
        return self._rules.check([(name, tool) for name in self._specs for tool in self.tools(name)])

    # -- looking

    def knows(self, server: str) -> bool:
        return server in self._specs or server == BUILT_IN_SERVER

    def record(self, server: str) -> ServerRecord | None:
        return self.records().get(server)

    def records(self) -> dict[str, ServerRecord]:
        records = self._records.get("all")
        if records is None:
            records = self._store.servers()
            self._records.put("all", records)
        return records

    def identity(self, server: str) -> Identity | None:
        """How this server introduced itself last time, if it is still launched the same way and we can look."""
        try:
            spec, record = self._specs.get(server), self.record(server)
        except StoreUnavailable:
            return None
        if spec is None or record is None or record.launch_fingerprint != spec.launch_fingerprint():
            return None
        return record.identity

    def own_name(self, server: str) -> str:
        """What a server called itself last time, in one short line; nothing where that is not known."""
        identity = self.identity(server)
        name = identity.server_info.get("name") if identity is not None else None
        return " ".join(name.split())[:MOST_NAME_CHARACTERS] if isinstance(name, str) else ""

    def was_read(self, server: str) -> bool:
        record = self.record(server)
        return server == BUILT_IN_SERVER or (record is not None and record.read_at is not None)

    def is_launched_differently(self, server: str) -> bool:
        """Whether a server's entry starts or contacts something else than what was met last time."""
        spec, record = self._specs.get(server), self.record(server)
        return spec is not None and record is not None and record.launch_fingerprint != spec.launch_fingerprint()

    def broken(self, server: str) -> ServerRecord | None:
        """What is known of a server whose last reading failed, launched as it is now."""
        record = self.record(server)
        if server not in self._specs or record is None or not record.error or self.is_launched_differently(server):
            return None
        return record

    def seconds_to_retry(self, server: str) -> float | None:
        """How long a server whose last reading failed should be left alone; None where it did not fail."""
        record = self.broken(server)
        return None if record is None else self._freshness.seconds_to_retry(record, self._now())

    def unread(self) -> list[str]:
        """The servers whose tools nobody has read, because reading them failed."""
        try:
            records = self.records()
        except StoreUnavailable:
            return []
        found = ((name, records.get(name)) for name in self._specs)
        return [name for name, record in found if record is not None and record.read_at is None and record.error]

    def is_old(self, server: str) -> bool:
        """Whether a server's tools are older than their time to live."""
        record = self.record(server)
        return record is not None and self._freshness.is_old(record, self._now())

    def due(self) -> list[str]:
        """Servers never read, launched differently by now, or older than their time to live."""
        records, now = self.records(), self._now()
        return [name for name, spec in self._specs.items() if self._freshness.is_due(spec, records.get(name), now)]

    def tools(self, server: str) -> VisibleTools:
        """The tools of a server by their public names, disabled ones included."""
        tools = self._visible_tools.get(server)
        if tools is None:
            tools = {visible.tool.name: visible for visible in self._all_visible(server)}
            self._visible_tools.put(server, tools)
        return tools

    def find(self, server: str, tool: str) -> VisibleTool | None:
        return self.tools(server).get(tool) if self.knows(server) else None

    def tool_count(self) -> int:
        return sum(len(self.tools(name)) for name in self._specs)

    def learnt_shape(self, visible: VisibleTool) -> LearntShape | None:
        """What was learnt of a tool's results under this very definition, if we can look."""
        try:
            found = self._store.learnt_shape(visible.tool.server, visible.upstream_name)
        except StoreUnavailable:
            return None
        return found if found is not None and found.fingerprint == visible.tool.fingerprint else None

    def select(
        self, passes: Passes, *, server: str | None, limit: int, include_disabled: bool
    ) -> list[tuple[VisibleTool, float]]:
        """All tools that pass, in the order of servers and names, as good as each other."""
        servers = [name for name in self._specs if server in {None, name}]
        listed = (visible for name in servers for visible in sorted(self.tools(name).values(), key=_by_name))
        passed = (
            visible
            for visible in listed
            if not visible.is_fallback and (visible.enabled or include_disabled) and passes(visible)
        )
        return [(visible, 1.0) for visible in islice(passed, limit)]

    def search(
        self,
        query: str,
        *,
        server: str | None,
        limit: int,
        include_disabled: bool,
        passes: Passes | None = None,
    ) -> list[tuple[VisibleTool, float]]:
        """The best matches, most relevant first; disabled tools never appear unless asked for, others only if they pass."""
        allowed: Callable[[Tool], bool] | None = None if include_disabled else self._is_enabled
        if passes is not None:
            allowed = self._passing(passes, include_disabled=include_disabled)
        matches: list[ToolMatch] = self._searchable().search(query, server=server, limit=limit, allowed=allowed)
        found = [(self.find(match.tool.server, match.tool.name), match.relevance) for match in matches]
        # A tools may have been looked up anew since the index was made.
        return [(visible, relevance) for visible, relevance in found if visible is not None]

    def index_next(self) -> bool:
        """Make one more server searchable; False when all are. Called between other work, a search then waits for little."""
        if not self._unindexed:
            return False
        if not self._has_room:
            self._search_index.keep_only((*self._specs, BUILT_IN_SERVER))
            self._has_room = True
        server = self._unindexed[0]
        mark = self._mark(server)
        if not self._search_index.is_current(server, mark):
            # The tools may have been written down since we looked; under this mark they would not be looked at again.
            self.drop_tools(server)
            self._search_index.put(server, list(self._searchable_tools(server)), mark)
        # Only now: a server that the catalog could not tell about is tried again.
        self._unindexed.popleft()
        if not self._unindexed:
            self._search_index.recall()
            self._warn_of_many()
        return True

    @property
    def search_index(self) -> SearchIndex:
        """The search index, for whoever teaches and keeps it."""
        return self._search_index

    def explain(self, query: str, found: VisibleTool) -> Explanation:
        """Why a search for `query` found this tool."""
        return self._searchable().explain(query, found.tool)

    # -- changing

    def save(self, spec: ServerSpec, reading: ServerReading) -> None:
        """Write down what the server launched as `spec` told; safe in a worker thread."""
        if spec.name in self._specs:
            self._store.save_reading(spec.name, spec.launch_fingerprint(), reading, self._now())

    def save_failure(self, spec: ServerSpec, error: str, code: str = "") -> None:
        """Write down why the server launched as `spec` could not be read; safe in a worker thread."""
        if spec.name in self._specs:
            self._store.record_failure(spec.name, spec.launch_fingerprint(), error, self._now(), code)

    def follow_others(self) -> None:
        """Take over what was written to the catalog since we last looked, by us or by other gateways."""
        try:
            token = self._store.change_token()
            if token == self._seen_change:
                return
            marks = {name: _reading_mark(record) for name, record in self._store.servers().items()}
        except StoreUnavailable as trouble:
            log.warning("the catalog can't be read now, so what is known stays: %s", trouble.message)
            return
        changed = [name for name in self._specs if marks.get(name) != self._read_marks.get(name)]
        self._seen_change, self._read_marks = token, marks
        for name in changed:
            self.invalidate(name)
        self._records.invalidate()

    # -- inside

    def _all_visible(self, server: str) -> Iterable[VisibleTool]:
        if server == BUILT_IN_SERVER:
            return [self._visible(tool, None) for tool in self._built_in]
        spec = self._specs.get(server)
        if spec is None:
            return []
        known = self._store.tools(server) or _declared(spec)
        if known or not self._could_not_be_read(server):
            own_name = self.own_name(server) if spec.contract else ""
            return [self._visible(tool, spec, own_name) for tool in known]
        fallbacks = [_as_fallback(self._visible(tool, spec)) for tool in fallback_tools(spec)]
        if fallbacks:
            log.warning("%s: its tools could not be read; fallback tools stand in for them", server)
        return fallbacks

    def _could_not_be_read(self, server: str) -> bool:
        record = self.record(server)
        return record is not None and record.read_at is None and bool(record.error)

    def _visible(self, tool: Tool, spec: ServerSpec | None, own_name: str = "") -> VisibleTool:
        public = tool if spec is None else public_tool(tool, spec, own_name)
        decision = self._rules.decide(public.server, public.name)
        refusal = _listed_off(spec, tool.name)
        return VisibleTool(
            public,
            upstream_name=tool.name,
            enabled=decision.enabled and not refusal,
            tags=decision.tags,
            reason=refusal or decision.reason,
        )

    def _searchable_tools(self, server: str) -> Iterable[Tool]:
        return (visible.tool for visible in self.tools(server).values() if not visible.is_fallback)

    def _searchable(self) -> ToolIndex:
        while self.index_next():
            pass
        return self._search_index.index

    def _mark(self, server: str) -> str:
        """Equal as long as a server's tools and their tags are; cheap, for it is asked of every server at each start."""
        spec, record = self._specs.get(server), self.record(server)
        if spec is None:
            told: tuple[object, ...] = tuple(tool.fingerprint for tool in self._built_in)
        elif record is None or not record.tool_count:
            told = (spec.prefix, spec.contract, spec.declared_tools)
        else:
            told = (spec.prefix, spec.contract, record.launch_fingerprint, record.read_at, record.tool_count)
        known = repr((self._rules.identity, self._search_index.max_tools, told))
        return hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:16]

    def _warn_of_many(self) -> None:
        # The records say how many there are at most; only where that is too many are all the tools looked at.
        if (
            sum(record.tool_count for name, record in self.records().items() if name in self._specs)
            <= self._max_enabled
        ):
            return
        enabled = sum(visible.enabled for name in self._specs for visible in self.tools(name).values())
        if enabled > self._max_enabled:
            log.warning(
                "%d tools are enabled, more than maxTools (%d): narrow them by rules", enabled, self._max_enabled
            )

    def _is_enabled(self, tool: Tool) -> bool:
        visible = self.tools(tool.server).get(tool.name)
        return visible is not None and visible.enabled

    def _passing(self, passes: Passes, *, include_disabled: bool) -> Callable[[Tool], bool]:
        def allowed(tool: Tool) -> bool:
            visible = self.tools(tool.server).get(tool.name)
            return visible is not None and (visible.enabled or include_disabled) and passes(visible)

        return allowed

    def _tags(self, tool: Tool) -> tuple[str, ...]:
        visible = self.tools(tool.server).get(tool.name)
        return visible.tags if visible is not None else ()


def _as_fallback(visible: VisibleTool) -> VisibleTool:
    return replace(visible, is_fallback=True, tags=(*visible.tags, FALLBACK_TAG))


def _reading_mark(record: ServerRecord) -> float | str | None:
    """What differs when a server's tools may: a new reading, or why there is still none."""
    return record.error if record.read_at is None else record.read_at


def _by_name(visible: VisibleTool) -> str:
    return visible.tool.name


def _declared(spec: ServerSpec) -> list[Tool]:
    """Tools named in the configuration, for a server that was never reached."""
    return [Tool.from_mcp(spec.name, _definition(declared)) for declared in spec.declared_tools]


def _definition(declared: DeclaredTool) -> dict[str, Any]:
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
