"""Which entries of a client move, and why others stay."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolcrib.adoption.claude_code import why_not_given_back
from toolcrib.adoption.client_file import ClientFile, Listed
from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.site import Site
from toolcrib.clients.client import Client

_KEPT = "you asked to keep it there"
_NOT_HELD = "it contains text that Toolcrib's file can't hold, such as half a character"


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides by what the person asked for, and by whether an entry would come back as it was."""

    site: Site
    own: OwnFile
    keep: Collection[str]
    local: bool
    unclear: Collection[tuple[str, str]]

    def judged(self, one: Listed, client: Client) -> Listed:
        """The entry, without a server in it where it stays, and with the reason."""
        why = self._why_it_stays(one, client) if one.spec else one.stays
        return replace(one, spec=None, stays=why) if why else one

    def _why_it_stays(self, one: Listed, client: Client) -> str:
        if one.key in self.keep:
            return _KEPT
        if (client.name, one.key) in self.unclear:
            return f"two files of {client.title} say different things about it; make them one first"
        if client.has_program and (why := self._why_not_local(one, client) or why_not_given_back(one.key, one.raw)):
            return why
        return "" if one.spec is None or self.own.holds(one.spec) else _NOT_HELD

    def _why_not_local(self, one: Listed, client: Client) -> str:
        if not one.folder:
            return ""
        if not self.local or not self.site.program(client):
            return f"it is set up for {one.folder} alone; --local moves it too, and then it is offered everywhere"
        return "" if Path(one.folder).is_dir() else f"it is set up for {one.folder}, which does not exist"


def unclear_keys(files: Iterable[ClientFile]) -> set[tuple[str, str]]:
    """Entries that several files of one client have, and not all alike: client and name."""
    seen: dict[tuple[str, str], Any] = {}
    unclear = set()
    for file in files:
        for key, _, raw in file.entries() if file.client.merges_files else ():
            if seen.setdefault((file.client.name, key), raw) != raw:
                unclear.add((file.client.name, key))
    return unclear
