"""Releasing: every client gets back what it had, byte for byte where nobody else wrote meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.client_steps import client_steps
from toolcrib.adoption.clients import CLIENTS, Client
from toolcrib.adoption.journal import (
    ClientRecord,
    Journal,
    JournalFile,
    MovedServer,
    OwnRecord,
    client_of,
    digest,
    entry_digest,
)
from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.secrets import Vault, opened
from toolcrib.adoption.site import Site
from toolcrib.adoption.writer import Writer
from toolcrib.adoption.writes import FileWrite
from toolcrib.edit.changes import Change, Drop, Place, Put, look_up
from toolcrib.errors import ConfigurationError

BY_HAND = "by hand"
_NO_PROGRAM = "its program `claude` was not found, and only that can change this file; install it, then release again"


@dataclass(frozen=True, slots=True)
class Returned:
    """What becomes of one client's file: `how` is restored, merged or unchanged, or by hand where we can't write it."""

    file: ClientFile
    how: str
    after: bytes | None = field(repr=False)
    servers: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    # A merge cannot put back comments inside of entries: what had them stays to be looked at.
    kept: tuple[tuple[Path, bytes], ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        return self.file.client.name

    @property
    def path(self) -> Path:
        return self.file.path


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
    returned = {key: _Return(site, vault, journal, key, names).planned() for key in keys}
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
class _Return:
    """Works out what one client gets back."""

    site: Site
    vault: Vault
    journal: Journal
    key: str
    # What keepsakes of this release are called.
    names: set[str]

    @property
    def record(self) -> ClientRecord:
        return self.journal.clients[self.key]

    @property
    def client(self) -> Client:
        return CLIENTS[client_of(self.key)]

    def planned(self) -> Returned:
        returned = self._planned()
        needs_program = self.client.has_program and returned.after != returned.file.content
        if not needs_program or self.site.program(self.client):
            return returned
        remarks = (
            _NO_PROGRAM,
            *(f"its servers are kept: {self.site.folder / name}" for name in self.record.backups if name),
        )
        return Returned(returned.file, BY_HAND, returned.file.content, returned.servers, remarks)

    def _planned(self) -> Returned:
        record = self.record
        file = ClientFile.read(self.client, Path(record.file))
        now = digest(file.content)
        servers = tuple(moved.key for moved in record.moved)
        if now == record.before:
            return Returned(file, "unchanged", file.content)
        if file.content is None or record.is_as_we_left_it(now):
            first = record.backups[0]
            return Returned(file, "restored", self._backup(first).content if first else None, servers)
        return self._merged(file)

    def _merged(self, file: ClientFile) -> Returned:
        there = {place: key for key, place, _ in file.entries()}
        changes: list[Change] = []
        remarks: list[str] = []
        back: list[str] = []
        for moved in self.record.moved:
            place = self._place(moved, file, len(there) + len(back))
            if place in there or (file.client.is_list and moved.key in there.values()):
                remarks.append(f"{moved.key} is there again already and is left as it is")
                continue
            changes.append(Put(place, self._old_entry(moved)))
            back.append(moved.key)
        ours = [one.place for one in file.listed(self.site.address) if one.is_gateway and one.key == self.record.entry]
        allowed = file.allowed() or []
        if ours and self.record.entry in allowed:
            ours.append((*file.client.allowed, allowed.index(self.record.entry)))
        after = file.edited([*changes, *map(Drop, ours)])
        kept = self._keepsakes()
        remarks += [f"the file as it was is kept: {path}" for path, _ in kept]
        return Returned(file, "merged", after, tuple(back), tuple(remarks), tuple(kept))

    def _place(self, moved: MovedServer, file: ClientFile, end: int) -> Place:
        """Where the entry goes in the file as it is now."""
        if file.client.has_program and moved.place:
            return moved.place
        return (*file.container, end if file.client.is_list else moved.key)

    def _old_entry(self, moved: MovedServer) -> Any:
        old = self._backup(moved.backup)
        places = [place for key, place, _ in old.entries() if key == moved.key]
        return look_up(old.document, moved.place if moved.place in places else places[0])

    def _keepsakes(self) -> list[tuple[Path, bytes]]:
        if self.client.has_program:
            # Its program writes no comments, and each of its entries is given back whole.
            return []
        backups = [name for name in self.record.backups if name and not self._is_sealed(name)]
        return [(self.site.folder / self._keepsake_name(), self.site.backup(name)) for name in backups]

    def _keepsake_name(self) -> str:
        name = self.site.free_keepsake(self.client.name, self.names)
        self.names.add(name)
        return name

    def _is_sealed(self, name: str) -> bool:
        content = self.site.backup(name)
        return any(mark.encode() in content for mark in self.journal.seals)

    def _backup(self, name: str) -> ClientFile:
        content = opened(self.site.backup(name), self.journal.seals, self.vault)
        return ClientFile(self.client, Path(self.record.file), content)


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
        write = self._own_write(own, own_file, removed, is_last=not left) if own and own_file else None
        journal = Journal(
            own=self._own_record(own, write) if left else None,
            clients=left,
            servers={name: record for name, record in servers.items() if record.clients},
            seals=self.journal.seals if left else {},
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

    def _own_write(self, own: OwnRecord, file: OwnFile, removed: list[str], *, is_last: bool) -> FileWrite:
        if is_last and own.is_as_we_left_it(digest(file.content)):
            before = self.site.backup(own.backup) if own.backup else None
            return file.rewritten(before, own.mode)
        return file.rewritten(file.without_servers(removed) if removed else file.content)

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
