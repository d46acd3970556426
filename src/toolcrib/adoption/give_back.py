"""What one client gets back: the file it had, or its servers beside what others have written since."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib.adoption.claude_code import is_half_given
from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.journal import ClientRecord, Journal, MovedServer, client_of, digest
from toolcrib.adoption.secrets import Vault, opened
from toolcrib.adoption.site import Site
from toolcrib.clients.client import Client
from toolcrib.clients.table import CLIENTS
from toolcrib.edit.changes import Change, Drop, Place, Put, look_up

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
class Return:
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
            is_there = place in there or (file.client.is_list and moved.key in there.values())
            if is_there and not self._was_stopped(file, place, moved):
                remarks.append(f"{moved.key} is in the file again and is left as it is")
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

    def _was_stopped(self, file: ClientFile, place: Place, moved: MovedServer) -> bool:
        """Whether an earlier release was ended while it gave this entry back."""
        return file.client.has_program and is_half_given(look_up(file.document, place), self._old_entry(moved))

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
