"""Sign-ins as files that only their owner can read; their secrets may be in the keyring instead."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from toolcrib.errors import ConfigurationError, StoreUnavailable
from toolcrib.files.one_step import write_in_one_step
from toolcrib.signin.record import Registration, SignIn, Tokens
from toolcrib.storage.file_lock import file_lock

log = logging.getLogger(__name__)

_KEY = re.compile(r"[0-9a-f]{20}")
_MOST_BYTES = 256 * 1024
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Keyring(Protocol):
    """Secrets by name; `put` raises ConfigurationError where it can't keep one."""

    def get(self, name: str) -> str | None: ...

    def put(self, name: str, secret: str) -> None: ...

    def drop(self, name: str) -> None: ...


class _Secrets(msgspec.Struct, frozen=True):
    """The part of a sign-in that goes into the keyring."""

    tokens: Tokens | None
    registration: Registration | None


class SignInFiles:
    """Fulfils `SignInStore`; one file for each sign-in, which appears whole or not at all."""

    def __init__(self, folder: Path, keyring: Keyring) -> None:
        self._folder = folder
        self._keyring = keyring

    def get(self, key: str) -> SignIn | None:
        with self._troubles("read"):
            record = self._read(self._path(key))
        if record is None or record.secrets == "file":
            return record
        return self._with_secrets(record)

    def put(self, record: SignIn) -> SignIn:
        written = self._without_secrets(record) if record.secrets == "keyring" else record
        with self._troubles("written"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A renewal may have ended the old refresh token: the new one must not be lost with the power.
            write_in_one_step(self._path(record.key), msgspec.json.encode(written), durable=True)
        return msgspec.structs.replace(record, secrets=written.secrets)

    def drop(self, key: str) -> None:
        self._keyring.drop(_name_in_keyring(key))
        with self._troubles("removed"):
            self._path(key).unlink(missing_ok=True)

    def all(self) -> list[SignIn]:
        found = []
        for path in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else ():
            with suppress(OSError, StoreUnavailable):
                if _KEY.fullmatch(path.stem) and (record := self._read(path)) is not None:
                    found.append(record)
        return found

    @contextmanager
    def locked(self, key: str, seconds: float) -> Iterator[bool]:
        with self._troubles("locked"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = file_lock(self._path(key).with_suffix(".lock"), wait_seconds=seconds)
            is_taken = lock.__enter__()
        try:
            yield is_taken
        finally:
            lock.__exit__(None, None, None)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise StoreUnavailable(f"{key!r} is not the key of a sign-in")
        return self._folder / f"{key}.json"

    def _read(self, path: Path) -> SignIn | None:
        try:
            descriptor = os.open(path, _READ)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb") as file:
            _check_private(path, os.fstat(descriptor))
            content = file.read(_MOST_BYTES + 1)
        try:
            record = msgspec.json.decode(content, type=SignIn)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise StoreUnavailable(
                f"the sign-in in {path} can't be read", hint="Delete that file, then sign in again."
            ) from None
        return record if record.key == path.stem else None

    def _with_secrets(self, record: SignIn) -> SignIn:
        kept = self._keyring.get(_name_in_keyring(record.key))
        try:
            secrets = msgspec.json.decode(kept or "", type=_Secrets)
        except msgspec.DecodeError:
            raise StoreUnavailable(
                f"the keyring does not give out the sign-in to {record.server}",
                hint="Unlock the keyring, or sign in again with `oauth.store: file`.",
            ) from None
        return msgspec.structs.replace(record, tokens=secrets.tokens, registration=secrets.registration)

    def _without_secrets(self, record: SignIn) -> SignIn:
        """What goes into the file; a keyring that takes nothing leaves all of it there."""
        secrets = msgspec.json.encode(_Secrets(record.tokens, record.registration)).decode()
        try:
            self._keyring.put(_name_in_keyring(record.key), secrets)
        except ConfigurationError as refusal:
            log.warning("the sign-in to %s is kept in a file: %s", record.server, refusal.message)
            return msgspec.structs.replace(record, secrets="file")
        return msgspec.structs.replace(record, tokens=None, registration=None)

    @contextmanager
    def _troubles(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as trouble:
            raise StoreUnavailable(f"sign-ins in {self._folder} can't be {what}: {trouble.strerror}") from trouble


def _name_in_keyring(key: str) -> str:
    return f"oauth:{key}"


def _check_private(path: Path, status: os.stat_result) -> None:
    """Refuse a file that somebody else could have made or read."""
    if not stat.S_ISREG(status.st_mode):
        raise StoreUnavailable(f"{path} is not a plain file")
    if os.name == "posix" and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        raise StoreUnavailable(
            f"others could have read or made the sign-in in {path}",
            hint="Delete that file, then sign in again.",
        )
