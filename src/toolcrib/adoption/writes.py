"""One file that is written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolcrib.adoption.steps import Placing, trouble
from toolcrib.clients.machine import is_there
from toolcrib.config.documents import read_bytes

PRIVATE = 0o600
_MOST_BYTES = 256 * 1024 * 1024
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class FileWrite:
    """What a file is expected to hold now, and what it shall hold; None means no such file.

    Without a mode the file keeps the one it has; a new one is its owner's alone.
    """

    path: Path
    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)
    mode: int | None = None
    mode_before: int | None = None

    @property
    def target(self) -> Path:
        """Where the file really is: a link stays a link."""
        return self.path.resolve()

    @property
    def changes_something(self) -> bool:
        return self.before != self.after

    def is_as_expected(self) -> bool:
        return self._found() == self.before

    def check(self) -> None:
        if not self.is_as_expected():
            raise trouble(self.path, "was changed by someone else meanwhile; nothing was written, try again")
        if self.changes_something and self.before is not None and not self.target.stat().st_mode & _ANY_WRITE:
            raise trouble(self.path, "is read-only; nothing was written")

    def apply(self, placing: Placing) -> None:
        if self.after is None:
            self.target.unlink(missing_ok=True)
            return
        target = self.target
        target.parent.mkdir(parents=True, exist_ok=True)
        status = target.stat() if self.before is not None else None
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=temporary_prefix(target.name, placing.tag))
        temporary = Path(name)
        try:
            with open(handle, "wb") as stream:
                stream.write(self.after)
                stream.flush()
                os.fsync(stream.fileno())
            _take_on(temporary, status, self.mode)
            if read_bytes(temporary, _MOST_BYTES) != self.after:
                raise trouble(self.path, "could not be read back as it was written; the old file stays")
            placing.replace(temporary, target)
            _settle(target.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def verify(self) -> None:
        if self._found() != self.after:
            raise trouble(self.path, "was changed by someone else meanwhile; try again")

    def undo(self, placing: Placing) -> None:
        found = self._found()
        if found == self.before:
            return
        if found != self.after:
            raise trouble(self.path, "was changed by someone else meanwhile")
        # With the real rename: the one that was given may be what failed.
        FileWrite(self.path, found, self.before, self.mode_before).apply(replace(placing, replace=os.replace))

    def _found(self) -> bytes | None:
        return read_bytes(self.target, _MOST_BYTES) if is_there(self.path) else None


def temporary_prefix(name: str, tag: str) -> str:
    """How the name of a file begins that is not in its place yet."""
    return f".{name}.toolcrib-{tag}-"


def _take_on(file: Path, status: os.stat_result | None, mode: int | None) -> None:
    """Give the new file the owner of the one it stands for, and its mode where no other was asked for."""
    usual = stat.S_IMODE(status.st_mode) if status else PRIVATE
    file.chmod(usual if mode is None else mode)
    if status and hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(file, status.st_uid, status.st_gid)


def _settle(folder: Path) -> None:
    # So that the rename itself survives a power cut; not every system lets a folder be opened.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
