"""Several files written as one: each whole or not at all, and all of them or none."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from toolcrib.config.documents import is_there, read_bytes
from toolcrib.errors import ConfigurationError, Problem

Replace = Callable[[Path, Path], None]
_MOST_BYTES = 256 * 1024 * 1024
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class FileWrite:
    """What a file is expected to hold now, and what it shall hold; None means no such file."""

    path: Path
    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)
    mode: int = 0o600

    @property
    def target(self) -> Path:
        """Where the file really is: a link stays a link."""
        return self.path.resolve()


def write_all(writes: Iterable[FileWrite], *, replace: Replace = os.replace) -> None:
    """Write the files in this order; at the first trouble put back those already written and raise."""
    wanted = [write for write in writes if write.before != write.after]
    for write in wanted:
        _check(write)
    done: list[FileWrite] = []
    try:
        for write in wanted:
            _check(write)
            done.append(write)
            _apply(write, replace)
    except BaseException as error:
        for write in reversed(done):
            with suppress(OSError, ConfigurationError):
                _undo(write)
        if isinstance(error, OSError):
            raise _trouble(done[-1].path, f"cannot be written: {error.strerror or error}") from None
        raise


def _check(write: FileWrite) -> None:
    found = read_bytes(write.target, _MOST_BYTES) if is_there(write.path) else None
    if found != write.before:
        raise _trouble(write.path, "was changed by someone else meanwhile; nothing was written, try again")
    if found is not None and not write.target.stat().st_mode & _ANY_WRITE:
        raise _trouble(write.path, "is read-only; nothing was written")


def _apply(write: FileWrite, replace: Replace) -> None:
    if write.after is None:
        write.target.unlink(missing_ok=True)
        return
    target = write.target
    target.parent.mkdir(parents=True, exist_ok=True)
    status = target.stat() if write.before is not None else None
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with open(handle, "wb") as stream:
            stream.write(write.after)
            stream.flush()
            os.fsync(stream.fileno())
        _take_on(temporary, status, write.mode)
        replace(temporary, target)
        _settle(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _take_on(file: Path, status: os.stat_result | None, mode: int) -> None:
    """Give the new file the mode and the owner of the one it stands for."""
    file.chmod(stat.S_IMODE(status.st_mode) if status else mode)
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


def _undo(write: FileWrite) -> None:
    found = read_bytes(write.target, _MOST_BYTES) if is_there(write.path) else None
    if found == write.after and found != write.before:
        _apply(FileWrite(write.path, found, write.before, write.mode), os.replace)


def _trouble(path: Path, message: str) -> ConfigurationError:
    return ConfigurationError([Problem("", message, str(path))])
