"""Searching the tools that one workspace shows, in the index that all workspaces of an engine share."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.items import MOST_NAME_CHARACTERS
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.tool import Tool
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.search.group_names import ASIDE
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.search_index import SearchIndex

if TYPE_CHECKING:  # only names of types: see `SearchIndex`
    from toolcrib.search.explain import Explanation

log = logging.getLogger(__name__)

ITEM_SHARE = 0.9

Passes = Callable[[VisibleTool], bool]
Found = tuple[VisibleTool, float]


class ToolSearch:
    """Brings the servers of a view into the index, and finds their tools again."""

    def __init__(self, view: CatalogView, index: SearchIndex, *, max_enabled: int) -> None:
        self.index = index
        self._max_enabled = max_enabled
        self._view = view
        self._groups: dict[str, str] = {}
        # Prompts and resources of those servers that have some.
        self._item_groups: dict[str, str] = {}
        self._waiting: deque[str] = deque()
        # The state of the view and of the catalog that the index was last compared with, and how much it could hold.
        self._compared: tuple[int, int, int] | None = None

    def configure(self, *, max_enabled: int) -> None:
        """Warn above another number of enabled tools from the next indexing on."""
        self._max_enabled = max_enabled

    def search(
        self,
        query: str,
        *,
        server: str | None = None,
        limit: int = 10,
        include_disabled: bool = False,
        passes: Passes | None = None,
        caller: Caller = LIBRARY,
    ) -> list[Found]:
        """The best matches, most relevant first: tools the caller may use, or all where `include_disabled`, that pass.

        Prompts and resources are ranked among themselves, and stand behind tools that are as relevant.
        """
        self._bring_up_to_date()

        def allowed(tool: Tool) -> bool:
            visible = self._view.find(tool.server, tool.name, caller)
            return visible is not None and _is_shown(visible) and (passes is None or passes(visible))

        def _is_shown(visible: VisibleTool) -> bool:
            return visible.enabled or (include_disabled and visible.availability.is_searchable)

        def found(groups: Mapping[str, str], *, aside: bool) -> list[Found]:
            group = None if server is None else groups.get(server, "")
            matches = self.index.index.search(
                query, server=group, among=groups.values(), limit=limit, allowed=allowed, aside=aside
            )
            seen = ((self._view.find(match.tool.server, match.tool.name, caller), match.relevance) for match in matches)
            return [(visible, relevance) for visible, relevance in seen if visible is not None]

        tools = found(self._groups, aside=False)
        if not (self._item_groups if server is None else server in self._item_groups):
            return tools
        return _behind(tools, found(self._item_groups, aside=True))[:limit]

    def select(
        self,
        passes: Passes,
        *,
        server: str | None = None,
        limit: int = 10,
        include_disabled: bool = False,
        caller: Caller = LIBRARY,
    ) -> list[Found]:
        """All tools that pass, and the prompts and resources behind them, by servers and names, as good as each other."""
        servers = [name for name in self._view.specs if server in {None, name}]
        offered = chain(
            (self._view.tools(name, caller) for name in servers), (self._view.items(name, caller) for name in servers)
        )
        tools = (one for own in offered for _, one in sorted(own.items()))
        passed = (
            visible
            for visible in tools
            if visible.availability.is_searchable and (visible.enabled or include_disabled) and passes(visible)
        )
        return [(visible, 1.0) for visible in islice(passed, limit)]

    def explain(self, query: str, found: VisibleTool) -> Explanation:
        """Why a search for `query` found this tool."""
        self._bring_up_to_date()
        group = (self._groups if found.tool.kind == "tool" else self._item_groups)[found.tool.server]
        return self.index.index.explain(query, found.tool, server=group, tags=self._tags)

    # -- the index

    def index_next(self) -> bool:
        """Make one more server searchable; False when all are. Called between other work, a search then waits for little."""
        if self._compared != self._state():
            self._compared = self._state()
            self._groups = {name: self._group(name) for name in (*self._view.specs, BUILT_IN_SERVER)}
            self._item_groups = {
                name: f"{group}{ASIDE}" for name, group in self._groups.items() if self._has_items(name)
            }
            self._waiting = deque(self._groups)
            self.index.claim(self, [*self._groups.values(), *self._item_groups.values()])
        if not self._waiting:
            return False
        server = self._waiting[0]
        mark = self._mark(server)
        for group, searchable in (
            (self._groups[server], self._searchable_tools),
            (self._item_groups.get(server), self._searchable_items),
        ):
            if group is not None and not self.index.is_current(group, mark):
                self.index.put(group, searchable(server), mark, self._tags)
        # Only now: a server that the catalog could not tell about is tried again.
        self._waiting.popleft()
        if not self._waiting:
            self._warn_of_many()
        return True

    def close(self) -> None:
        self.index.release(self)

    def _state(self) -> tuple[int, int, int]:
        return self._view.version, self._view.catalog.version, self.index.max_tools

    def _bring_up_to_date(self) -> None:
        while self.index_next():
            pass

    def _group(self, server: str) -> str:
        """The name of what is indexed of a server: the same for every workspace that shows it the same way."""
        spec = self._view.specs.get(server)
        shown = () if spec is None else (spec.launch_key, spec.prefix, spec.contract)
        return f"{server}@{_digest((shown, self._view.rules.tagging))}"

    def _mark(self, server: str) -> str:
        """Equal as long as a server's tools are; cheap, for it is asked of every server at each start."""
        spec, record = self._view.specs.get(server), self._view.record(server)
        if spec is None:
            told: Sequence[object] = [tool.fingerprint for tool in self._view.built_in]
        elif record is None or not (record.tool_count or record.item_count):
            told = (spec.declared_tools,)
        else:
            told = (record.launch_key, record.read_at, record.tool_count, record.pins_revision)
        return _digest((self.index.max_tools, told))

    def _searchable_tools(self, server: str) -> Iterable[Tool]:
        visible = self._view.tools(server).values()
        return [one.tool for one in visible if one.availability.is_searchable]

    def _searchable_items(self, server: str) -> Iterable[Tool]:
        items = self._view.items(server).items()
        shown = ((name, one) for name, one in items if one.availability.is_searchable)
        return [one.tool for name, one in shown if len(name) <= MOST_NAME_CHARACTERS]

    def _has_items(self, server: str) -> bool:
        record = self._view.record(server)
        return record is not None and record.item_count > 0

    def _tags(self, tool: Tool) -> tuple[str, ...]:
        visible = self._view.find(tool.server, tool.name)
        return visible.tags if visible is not None else ()

    def _warn_of_many(self) -> None:
        # The records say how many there are at most; only where that is too many are all the tools looked at.
        records = (self._view.record(name) for name in self._view.specs)
        if sum(record.tool_count for record in records if record is not None) <= self._max_enabled:
            return
        enabled = sum(one.enabled for name in self._view.specs for one in self._view.tools(name).values())
        if enabled > self._max_enabled:
            log.warning(
                "%d tools are enabled, more than maxTools (%d): narrow them by rules", enabled, self._max_enabled
            )


def _behind(tools: Sequence[Found], items: Sequence[Found]) -> list[Found]:
    """Both by relevance; who searches mostly looks for something to do, so what is no tool counts a little less."""
    lesser = [(one, relevance if relevance == 1.0 else round(relevance * ITEM_SHARE, 2)) for one, relevance in items]
    return sorted([*tools, *lesser], key=lambda found: -found[1])


def _digest(told: object) -> str:
    return hashlib.sha256(repr(told).encode("utf-8", "replace")).hexdigest()[:16]
