"""What was adopted, written down before it is done: enough to put everything back, also after a crash in between."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from toolcrib.config.documents import is_there, read_bytes
from toolcrib.errors import ConfigurationError, Problem

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


class OwnRecord(msgspec.Struct, frozen=True, rename="camel"):
    """Our own file: `backup` is empty where there was none before."""

    file: str
    backup: str
    before: str
    after: str
    is_intact: bool = True


class ServerRecord(msgspec.Struct, frozen=True):
    """A server that came from clients: which, the hash of its entry as we wrote it, and its secrets in the keyring."""

    clients: tuple[str, ...]
    entry: str
    secrets: tuple[str, ...] = ()


class Journal(msgspec.Struct, frozen=True):
    """Everything that is adopted now."""

    version: int = 1
    own: OwnRecord | None = None
    clients: dict[str, ClientRecord] = {}
    servers: dict[str, ServerRecord] = {}
    seals: dict[str, Seal] = {}

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def read_journal(file: Path) -> Journal:
    """The journal, empty where nothing was adopted."""
    if not is_there(file):
        return Journal()
    try:
        return msgspec.json.decode(read_bytes(file, _MOST_BYTES), type=Journal)
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            [Problem("", f"is not the journal of adoptions it should be: {error}", str(file))]
        ) from None


def digest(content: bytes | None) -> str:
    """The hash by which a file's content is recognised; empty for no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def entry_digest(entry: Any) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True, default=str).encode()).hexdigest()
