"""What was adopted, written down before it is done: enough to put everything back, also after a crash in between."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from toolcrib.adoption.steps import trouble
from toolcrib.adoption.writes import FileWrite
from toolcrib.clients.machine import is_there
from toolcrib.config.documents import read_bytes

_MOST_BYTES = 64 * 1024 * 1024


class Seal(msgspec.Struct, frozen=True):
    """A mark in a backup stands for this secret of the keyring, written in this form."""

    secret: str
    form: str


class MovedServer(msgspec.Struct, frozen=True):
    """An entry that was taken out of a client's file: its name there, ours, and the backup that still has it."""

    key: str
    name: str
    backup: str
    # Where in the file it was; journals of earlier versions do not say.
    place: tuple[str | int, ...] = ()


class ClientRecord(msgspec.Struct, frozen=True, rename="camel"):
    """One client's file: hashes of it before and after; `is_intact` while nobody else wrote in between.

    The first of `backups` is the file before us, empty where there was none; later ones came with later servers.
    """

    file: str
    entry: str
    backups: tuple[str, ...]
    before: str
    after: str
    is_intact: bool = True
    moved: tuple[MovedServer, ...] = ()
    # What `after` was before: a write that was announced here may never have happened.
    earlier: tuple[str, ...] = ()

    def is_as_we_left_it(self, found: str) -> bool:
        """Whether a file with this hash has nothing in it that is not of our making."""
        return self.is_intact and found in (self.after, *self.earlier)


class OwnRecord(msgspec.Struct, frozen=True, rename="camel"):
    """Our own file: `backup` is empty where there was none before; `mode` is the one it had."""

    file: str
    backup: str
    before: str
    after: str
    is_intact: bool = True
    mode: int | None = None
    earlier: tuple[str, ...] = ()

    def is_as_we_left_it(self, found: str) -> bool:
        return self.is_intact and found in (self.after, *self.earlier)


class ServerRecord(msgspec.Struct, frozen=True):
    """A server that came from clients: which, the hash of its entry as we wrote it, and its secrets in the keyring."""

    clients: tuple[str, ...]
    entry: str
    secrets: tuple[str, ...] = ()


class ProfileRecord(msgspec.Struct, frozen=True):
    """A profile that was made for a client: whose, and the hash of it as we wrote it."""

    client: str
    entry: str


class Journal(msgspec.Struct, frozen=True):
    """Everything that is adopted now."""

    version: int = 1
    own: OwnRecord | None = None
    clients: dict[str, ClientRecord] = {}
    servers: dict[str, ServerRecord] = {}
    seals: dict[str, Seal] = {}
    profiles: dict[str, ProfileRecord] = {}

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def key_of(self, client: str, file: Path) -> str:
        """What a file of a client is recorded under: the client's name, unless another file of it is."""
        taken = self.clients.get(client)
        return client if taken is None or taken.file == str(file) else f"{client}:{file}"

    def backups(self) -> set[str]:
        """The names of all files it relies on."""
        own = [self.own.backup] if self.own else []
        return {name for name in (*own, *(name for one in self.clients.values() for name in one.backups)) if name}


@dataclass(frozen=True, slots=True)
class JournalFile:
    """The journal as it is on disk now; `content` is None where nothing was adopted."""

    path: Path
    content: bytes | None = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> JournalFile:
        return cls(path, read_bytes(path, _MOST_BYTES) if is_there(path) else None)

    def journal(self) -> Journal:
        """What it says, empty where nothing was adopted."""
        if self.content is None:
            return Journal()
        try:
            return msgspec.json.decode(self.content, type=Journal)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise trouble(self.path, f"is not the journal of adoptions it should be: {error}") from None

    def rewritten(self, journal: Journal) -> FileWrite:
        """The step that makes it say this; an empty journal is no file."""
        return FileWrite(self.path, self.content, journal.encoded() if journal.clients else None)


def client_of(key: str) -> str:
    """The client that something is recorded for under this key."""
    return key.partition(":")[0]


def digest(content: bytes | None) -> str:
    """The hash by which a file's content is recognised; empty for no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def entry_digest(entry: Any) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True, default=str).encode()).hexdigest()
