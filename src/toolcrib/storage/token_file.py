"""Named tokens in one file that only its owner can read; no token is in it, only what each one hashes to."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from toolcrib.errors import StoreUnavailable
from toolcrib.files.one_step import write_in_one_step
from toolcrib.model.named_token import NamedToken
from toolcrib.storage.file_lock import file_lock

LOCK_SECONDS = 10.0
_VERSION = 1
_MOST_BYTES = 4 * 1024 * 1024
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

Tokens = tuple[NamedToken, ...]


class _Kept(msgspec.Struct, frozen=True):
    version: int
    tokens: Tokens


class TokenFile:
    """The tokens of a person; raises StoreUnavailable where the file can't be used, which admits nobody."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._tokens: Tokens = ()

    def all(self) -> Tokens:
        """All tokens, also those that are over; the file is read again only where it is another one."""
        with self._troubles("read"):
            try:
                descriptor = os.open(self._path, _READ)
            except FileNotFoundError:
                self._seen, self._tokens = None, ()
                return ()
            with open(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                _check_private(self._path, status)
                seen = (status.st_mtime_ns, status.st_size, status.st_ino)
                if seen != self._seen:
                    self._tokens = self._decoded(file.read(_MOST_BYTES + 1))
                    self._seen = seen
        return self._tokens

    def change(self, change: Callable[[Tokens], Tokens]) -> Tokens:
        """Keep other tokens than those that are there; of several processes one does so at a time."""
        with self._troubles("written"):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with file_lock(self._path.with_suffix(".lock"), wait_seconds=LOCK_SECONDS) as is_taken:
                if not is_taken:
                    raise StoreUnavailable(f"another program is writing {self._path}", hint="Try again.")
                tokens = change(self.all())
                write_in_one_step(self._path, msgspec.json.encode(_Kept(_VERSION, tokens)), durable=True)
        return tokens

    def _decoded(self, content: bytes) -> Tokens:
        try:
            kept = msgspec.json.decode(content, type=_Kept)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise StoreUnavailable(
                f"the tokens in {self._path} can't be read", hint="Delete that file, then make new tokens."
            ) from None
        if kept.version != _VERSION:
            # It may say of a token what we don't know of, such as one more thing that it may not do.
            raise StoreUnavailable(f"the tokens in {self._path} were written by another version of Toolcrib")
        return kept.tokens

    @contextmanager
    def _troubles(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as trouble:
            raise StoreUnavailable(f"the tokens in {self._path} can't be {what}: {trouble.strerror}") from trouble


def _check_private(path: Path, status: os.stat_result) -> None:
    """Refuse a file that somebody else could have made or written."""
    if not stat.S_ISREG(status.st_mode):
        raise StoreUnavailable(f"{path} is not a plain file")
    if os.name == "posix" and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        raise StoreUnavailable(
            f"others could have made or read the tokens in {path}", hint="Delete that file, then make new tokens."
        )
