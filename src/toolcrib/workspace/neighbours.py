"""Which server of a workspace has which tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolcrib.catalog.catalog import Catalog
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.scanner.beside import KnownNames


class Neighbours:
    """Works the names out when somebody asks, and again only after one of the lists is another one."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._looked_at: tuple[Mapping[str, ServerSpec], int] | None = None
        self._lists: Mapping[str, Sequence[Tool]] = {}
        self._known = KnownNames({})

    def names(self, specs: Mapping[str, ServerSpec]) -> KnownNames:
        """The same object as long as nothing changed."""
        if self._looked_at is None or self._looked_at[0] is not specs or self._looked_at[1] != self._catalog.version:
            lists = {name: self._catalog.tools(spec) for name, spec in specs.items()}
            if not _are_same(lists, self._lists):
                self._lists = lists
                self._known = KnownNames.of({name: [tool.name for tool in tools] for name, tools in lists.items()})
            self._looked_at = specs, self._catalog.version
        return self._known


def _are_same(lists: Mapping[str, Sequence[Tool]], before: Mapping[str, Sequence[Tool]]) -> bool:
    return lists.keys() == before.keys() and all(tools is before[name] for name, tools in lists.items())
