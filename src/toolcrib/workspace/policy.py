"""What a caller may use of what the configuration shows: the one place where its rights decide."""

from __future__ import annotations

from dataclasses import replace

from toolcrib.model.address_spellings import spellings
from toolcrib.model.availability import Availability
from toolcrib.model.caller import EVERYTHING, Rights
from toolcrib.model.items import RESOURCE
from toolcrib.model.visible_tool import VisibleTool, VisibleTools

# Callers have one of a few profiles and tokens; more than these are forgotten and worked out anew.
MOST_RIGHTS = 64


def decide(base: VisibleTool, rights: Rights) -> VisibleTool:
    """The tool as these rights leave it; they take away and never give."""
    if rights is EVERYTHING:
        return base
    # Also of what nobody may use now: what it is called is no concern of this caller either.
    reason = rights.refusal(base) or _denied_otherwise(base, rights)
    if reason:
        return replace(base, availability=Availability("withheld", reason))
    return replace(base, confirm=True) if rights.asks_about(base) else base


class Decisions:
    """The tools of one server as callers may use them; worked out once for all callers with the same rights."""

    def __init__(self, tools: VisibleTools) -> None:
        self._tools = tools
        self._by_rights: dict[Rights, dict[str, VisibleTool]] = {}

    def all(self, rights: Rights) -> VisibleTools:
        """All of them, with those that may not be used."""
        return self._tools if rights is EVERYTHING else {name: self._decided(name, rights) for name in self._tools}

    def there(self, rights: Rights) -> VisibleTools:
        """Those that there are for such a caller, with those that nobody may use now."""
        found = self.all(rights)
        return (
            found if rights is EVERYTHING else {name: one for name, one in found.items() if one.availability.is_there}
        )

    def one(self, name: str, rights: Rights) -> VisibleTool | None:
        """The one of this name, if there is one."""
        return self._tools.get(name) if rights is EVERYTHING or name not in self._tools else self._decided(name, rights)

    def _decided(self, name: str, rights: Rights) -> VisibleTool:
        known = self._by_rights.get(rights)
        if known is None:
            if len(self._by_rights) >= MOST_RIGHTS:
                self._by_rights.clear()
            known = self._by_rights[rights] = {}
        decided = known.get(name)
        if decided is None:
            decided = known[name] = decide(self._tools[name], rights)
        return decided


def _denied_otherwise(base: VisibleTool, rights: Rights) -> str:
    """Why a resource may not be read whose address is another way to write one that is kept away; or nothing."""
    if base.tool.kind != "resource":
        return ""
    others = spellings(base.upstream_name)[1:]
    denied = next((uri for uri in others if rights.denies(base.tool.server, f"{RESOURCE}{uri}")), None)
    return "" if denied is None else f"it is another way to write {denied}, which this caller may not read"
