"""The discovery cache as small JSON files of one folder."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from toolcrib.files.one_step import write_in_one_step

log = logging.getLogger(__name__)

_OUR_FILE = re.compile(r"(?:tools|registry)_[A-Za-z0-9_-]{1,128}\.json")
# Not blocking: a pipe under the name of one of our files would hold us up for ever.
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class FolderCache:
    """Fulfils `CacheFiles`; each file appears whole or not at all. Other files in the folder are left alone."""

    def __init__(self, folder: Path, *, max_file_bytes: int = 16 * 1024 * 1024, max_files: int = 2_000) -> None:
        self._folder = folder
        self._max_file_bytes = max_file_bytes
        self._max_files = max_files

    def read(self, key: str) -> bytes | None:
        try:
            descriptor = os.open(self._path(key), _READ)
            with open(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                data = file.read(self._max_file_bytes + 1)
        except (OSError, ValueError):
            return None
        return data if len(data) <= self._max_file_bytes else None

    def write(self, key: str, data: bytes) -> None:
        if len(data) > self._max_file_bytes:
            return
        try:
            path = self._path(key)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_in_one_step(path, data)
            self._make_room()
        except (OSError, ValueError) as trouble:
            log.warning("the discovery cache in %s cannot be written: %s", self._folder, trouble)

    def delete(self, key: str) -> None:
        with suppress(OSError, ValueError):
            self._path(key).unlink(missing_ok=True)

    def clear(self) -> None:
        for path in self._files():
            with suppress(OSError):
                path.unlink()

    def _path(self, key: str) -> Path:
        name = f"{key}.json"
        if not _OUR_FILE.fullmatch(name):
            raise ValueError(f"{key!r} is not a key of the cache")
        return self._folder / name

    def _make_room(self) -> None:
        files = list(self._files())
        if len(files) > self._max_files:
            files.sort(key=_written_at)
            for path in files[: len(files) - self._max_files]:
                path.unlink(missing_ok=True)

    def _files(self) -> Iterator[Path]:
        with suppress(OSError):
            yield from [path for path in self._folder.iterdir() if _OUR_FILE.fullmatch(path.name)]


def _written_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
