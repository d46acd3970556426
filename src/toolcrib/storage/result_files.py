"""Large results as files of one folder, each readable only by the caller it was made for."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import ResultExpired, StoreUnavailable

_HANDLE = re.compile(r"[0-9a-f]{32}")
_OUR_FILE = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}(\.part)?")
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class _Kept:
    path: Path
    size: int
    put_at: float


class ResultFiles:
    """Fulfils `ResultStore`; `new_id` gives 32 random hexadecimal digits, `now` is in unix seconds."""

    def __init__(
        self,
        folder: Path,
        *,
        keep_seconds: float = 3600.0,
        max_total_bytes: int = 256 * 1024 * 1024,
        now: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._folder = folder
        self._keep_seconds = keep_seconds
        self._max_total_bytes = max_total_bytes
        self._now = now
        self._new_id = new_id
        # A folder that cannot be used is reported by the first `put`.
        with suppress(OSError):
            self._make_room(0)

    def configure(self, *, keep_seconds: float, max_total_bytes: int) -> None:
        """Let another time and another size hold, for results that are kept already too."""
        self._keep_seconds = keep_seconds
        self._max_total_bytes = max_total_bytes

    def put(self, caller_key: str, data: bytes) -> str:
        if len(data) > self._max_total_bytes:
            raise StoreUnavailable(f"a result of {len(data)} bytes is larger than the space for results")
        handle = self._new_id()
        try:
            self._make_room(len(data))
            self._write(self._path(caller_key, handle), data)
        except OSError as error:
            raise StoreUnavailable(f"the result cannot be kept in {self._folder}: {error}") from error
        return handle

    def get(self, caller_key: str, handle: str) -> bytes:
        if not _HANDLE.fullmatch(handle):
            raise _expired()
        try:
            return self._read(self._path(caller_key, handle))
        except OSError as error:
            raise _expired() from error

    def _path(self, caller_key: str, handle: str) -> Path:
        # The caller is part of the name: another caller's handle leads to no file at all.
        owner = hashlib.sha256(f"{handle}:{caller_key}".encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{handle}-{owner[:32]}"

    def _write(self, path: Path, data: bytes) -> None:
        partial = path.with_name(f"{path.name}.part")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            put_at = self._now()
            os.utime(partial, (put_at, put_at))
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def _read(self, path: Path) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | _SAFE)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or self._is_expired(status.st_mtime):
                raise FileNotFoundError(path)
            return file.read()

    def _is_expired(self, put_at: float) -> bool:
        return put_at + self._keep_seconds <= self._now()

    def _make_room(self, needed: int) -> None:
        """Remove what has expired, then the oldest until `needed` more bytes fit."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = sorted(self._kept(), key=lambda file: (file.put_at, file.path))
        total = sum(file.size for file in kept)
        for file in kept:
            if not self._is_expired(file.put_at) and total + needed <= self._max_total_bytes:
                break
            file.path.unlink(missing_ok=True)
            total -= file.size

    def _kept(self) -> list[_Kept]:
        kept = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                # Another process may remove the file between the two looks.
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if _OUR_FILE.fullmatch(entry.name) and stat.S_ISREG(status.st_mode):
                        kept.append(_Kept(Path(entry.path), status.st_size, status.st_mtime))
        return kept


def _expired() -> ResultExpired:
    return ResultExpired("This result is no longer kept.", hint="Run the tool again.")
