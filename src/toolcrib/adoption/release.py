"""Releasing: every client gets back what it had, byte for byte where nobody else wrote meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

from toolcrib.adoption.client_steps import client_steps
from toolcrib.adoption.give_back import BY_HAND, Return, Returned
from toolcrib.adoption.journal import (
    Journal,
    JournalFile,
    OwnRecord,
    client_of,
    digest,
    entry_digest,
)
from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.secrets import Vault
from toolcrib.adoption.site import Site
from toolcrib.adoption.writer import Writer
from toolcrib.adoption.writes import FileWrite
from toolcrib.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Everything a release would do."""

    clients: tuple[Returned, ...]
    own: FileWrite | None
    own_removed: tuple[str, ...]
    remarks: tuple[str, ...]
    # What is adopted now, and what will be after it.
    journal: JournalFile
    journal_after: Journal
    dropped_secrets: tuple[str, ...]


def plan_release(site: Site, vault: Vault, chosen: Collection[str] = ()) -> ReleasePlan:
    """What releasing these clients would do; without any, all that were adopted."""
    file = site.journal_file()
    journal = file.journal()
    keys = [key for key in journal.clients if not chosen or client_of(key) in chosen]
    names: set[str] = set()
    returned = {key: Return(site, vault, journal, key, names).planned() for key in keys}
    released = [key for key, one in returned.items() if one.how != BY_HAND]
    return _OwnRelease(site, journal, released).planned(file, tuple(returned.values()))


def carry_out_release(writer: Writer, site: Site, plan: ReleasePlan, vault: Vault) -> None:
    """Do what was planned: all of it, or on any trouble nothing, also when a file is not as the plan saw it."""
    clients = [step for one in plan.clients for step in client_steps(site, one.file, one.after)]
    own = [plan.own] if plan.own else []
    kept = [FileWrite(file, None, content) for one in plan.clients for file, content in one.kept]
    # The journal last, when all the others hold: until then a second release can finish what this one began.
    writer.take([*kept, *clients, *own], then=[plan.journal.rewritten(plan.journal_after)])
    for name in plan.journal.journal().backups() - plan.journal_after.backups():
        (site.folder / name).unlink(missing_ok=True)
    for name in plan.dropped_secrets:
        vault.drop(name)


@dataclass(frozen=True, slots=True)
class _OwnRelease:
    """Works out what our own file loses, and what the journal still has to say."""

    site: Site
    journal: Journal
    names: Collection[str]

    def planned(self, file: JournalFile, returned: tuple[Returned, ...]) -> ReleasePlan:
        left = {name: record for name, record in self.journal.clients.items() if name not in self.names}
        servers = {
            name: msgspec.structs.replace(record, clients=tuple(one for one in record.clients if one in left))
            for name, record in self.journal.servers.items()
        }
        gone = [name for name, record in servers.items() if not record.clients]
        own = self.journal.own
        own_file = OwnFile.read(Path(own.file)) if own else None
        removed, remarks = self._removable(own_file, gone) if own_file else ([], [])
        profiles = self._removable_profiles(own_file, left) if own_file else []
        write = self._own_write(own, own_file, removed, profiles, is_last=not left) if own and own_file else None
        journal = Journal(
            own=self._own_record(own, write) if left else None,
            clients=left,
            servers={name: record for name, record in servers.items() if record.clients},
            seals=self.journal.seals if left else {},
            profiles={name: record for name, record in self.journal.profiles.items() if record.client in left},
        )
        secrets = tuple(secret for name in removed for secret in self.journal.servers[name].secrets)
        return ReleasePlan(returned, write, tuple(removed), tuple(remarks), file, journal, secrets)

    def _removable(self, file: OwnFile, gone: list[str]) -> tuple[list[str], list[str]]:
        """Of the servers that no client relies on any more, those still as we wrote them; others are the user's now."""
        removed, remarks = [], []
        try:
            _ = file.document
        except ConfigurationError:
            # A slip in our file must not keep the clients from getting theirs back.
            return [], [f"{file.path} can't be read and stays as it is"]
        for name in gone:
            entry = file.entry(name)
            if entry is None:
                continue
            bare = {key: value for key, value in entry.items() if key != "name"} if _is_item(file, name) else entry
            if entry_digest(bare) == self.journal.servers[name].entry:
                removed.append(name)
            else:
                remarks.append(f"{name} was changed in {file.path} and stays there")
        return removed, remarks

    def _removable_profiles(self, file: OwnFile, left: Collection[str]) -> list[str]:
        """The profiles of clients that are released, where they are still as we wrote them."""
        try:
            written = file.profiles
        except ConfigurationError:
            return []
        return [
            name
            for name, record in self.journal.profiles.items()
            if record.client not in left and name in written and entry_digest(written[name]) == record.entry
        ]

    def _own_write(
        self, own: OwnRecord, file: OwnFile, removed: list[str], profiles: list[str], *, is_last: bool
    ) -> FileWrite:
        if is_last and own.is_as_we_left_it(digest(file.content)):
            before = self.site.backup(own.backup) if own.backup else None
            return file.rewritten(before, own.mode)
        after = file.without_servers(removed) if removed else file.content
        return file.rewritten(OwnFile(file.path, after).without_profiles(profiles) if profiles else after)

    def _own_record(self, own: OwnRecord | None, write: FileWrite | None) -> OwnRecord | None:
        if own is None or write is None:
            return own
        return msgspec.structs.replace(
            own,
            after=digest(write.after),
            earlier=(*own.earlier, own.after),
            is_intact=own.is_as_we_left_it(digest(write.before)),
        )


def _is_item(file: OwnFile, name: str) -> bool:
    place = file.place_of(name)
    return place is not None and isinstance(place[-1], int)
