"""Which of the lists that clients see have changed, told to those who asked."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.model.caller import Caller, Rights
from toolcrib.server.native_names import Offered, Table
from toolcrib.workspace.workspace import Workspace

Hear = Callable[[frozenset[str]], None]
CallerNow = Callable[[], Caller]
_Known = dict[str, dict[str, str]]


class ListChanges:
    """Compares what each listener is offered now with what it was; looks only while somebody listens."""

    def __init__(self, workspace: Workspace, offered: Callable[[Caller], Offered]) -> None:
        self._workspace = workspace
        self._offered = offered
        # Who listens, and what it was offered when it last heard. Those with the same rights share that.
        self._listeners: dict[Hear, tuple[CallerNow, _Known]] = {}

    def add(self, hear: Hear, caller_now: CallerNow) -> None:
        """Tell somebody of the lists that have changed for it from now on, by the names of what clients ask for."""
        if not self._listeners:
            self._workspace.listeners.add(self._changed)
        self._listeners[hear] = caller_now, self._look(caller_now())

    def discard(self, hear: Hear) -> None:
        """Tell them no longer."""
        self._listeners.pop(hear, None)
        if not self._listeners:
            self._workspace.listeners.discard(self._changed)

    def _changed(self) -> None:
        looks: dict[Rights, _Known] = {}
        for hear, (caller_now, before) in tuple(self._listeners.items()):
            caller = caller_now()
            now = looks.get(caller.rights) or looks.setdefault(caller.rights, self._look(caller))
            self._listeners[hear] = caller_now, now
            changed = frozenset(name for name, table in now.items() if table != before[name])
            if changed:
                hear(changed)

    def _look(self, caller: Caller) -> _Known:
        offered = self._offered(caller)
        return {
            "promptsListChanged": _marks(offered.prompts),
            "resourcesListChanged": _marks(offered.resources) | _marks(offered.templates),
        }


def _marks(table: Table) -> dict[str, str]:
    return {name: visible.tool.fingerprint for name, visible in table.items()}
