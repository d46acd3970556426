"""Which of the lists that clients see have changed, told to those who asked."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.server.native_names import Offered, Table
from toolcrib.workspace.workspace import Workspace

Hear = Callable[[frozenset[str]], None]
_Known = dict[str, dict[str, str]]


class ListChanges:
    """Compares what is offered now with what was; looks only while somebody listens."""

    def __init__(self, workspace: Workspace, offered: Callable[[], Offered]) -> None:
        self._workspace = workspace
        self._offered = offered
        self._known: _Known = {}
        self._listeners: set[Hear] = set()

    def add(self, hear: Hear) -> None:
        """Tell somebody of the lists that have changed from now on, by the names of what clients ask for."""
        if not self._listeners:
            self._known = self._look()
            self._workspace.listeners.add(self._changed)
        self._listeners.add(hear)

    def discard(self, hear: Hear) -> None:
        """Tell them no longer."""
        self._listeners.discard(hear)
        if not self._listeners:
            self._workspace.listeners.discard(self._changed)

    def _changed(self) -> None:
        before, self._known = self._known, self._look()
        changed = frozenset(name for name, table in self._known.items() if table != before[name])
        if changed:
            for hear in tuple(self._listeners):
                hear(changed)

    def _look(self) -> _Known:
        offered = self._offered()
        return {
            "promptsListChanged": _marks(offered.prompts),
            "resourcesListChanged": _marks(offered.resources) | _marks(offered.templates),
        }


def _marks(table: Table) -> dict[str, str]:
    return {name: visible.tool.fingerprint for name, visible in table.items()}
