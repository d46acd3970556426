"""The audit log as lines of JSON in a few files of bounded size."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.masking.texts import mask_text
from toolcrib.storage.file_lock import file_lock

_MAX_NAMES = 64
_MAX_CHARACTERS = 128
_APPEND = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)


class AuditFile:
    """Fulfils `AuditLog`; several processes may write to the same files.

    The newest records are in `path`, older ones in `path.1` and so on, `files` of them in all.
    `on_trouble` hears once when records can no longer be written, and once when they can again.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = 10 * 1024 * 1024,
        files: int = 5,
        on_trouble: Callable[[str], None],
    ) -> None:
        self._path = path
        self._lock_path = path.with_name(f"{path.name}.lock")
        self._on_trouble = on_trouble
        self._lock = threading.Lock()
        self._unrecorded = 0
        self.configure(max_bytes=max_bytes, files=files)

    def configure(self, *, max_bytes: int, files: int) -> None:
        """Let other limits hold from the next record on; files beyond a smaller number stay where they are."""
        if files < 2:
            raise ValueError("files must be at least 2: the one written to and one before it")
        with self._lock:
            self._files = [self._path, *(self._path.with_name(f"{self._path.name}.{n}") for n in range(1, files))]
            self._max_bytes = max_bytes

    def append(self, record: AuditRecord) -> None:
        line = _line(record)
        with self._lock:
            try:
                self._write(line)
            except OSError as error:
                self._failed(error)
            else:
                self._succeeded()

    def _write(self, line: bytes) -> None:
        # Opened for each record: a file that another process has rotated or a person deleted gets no more of them.
        with self._opened() as descriptor:
            if not self._is_full(os.fstat(descriptor), line):
                _append_whole(descriptor, line)
                return
        self._rotate(line)
        with self._opened() as descriptor:
            _append_whole(descriptor, line)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            descriptor = os.open(self._path, _APPEND, 0o600)
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, _APPEND, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _is_full(self, status: os.stat_result, line: bytes) -> bool:
        return status.st_size > 0 and status.st_size + len(line) > self._max_bytes

    def _rotate(self, line: bytes) -> None:
        """Move every file one place on, unless another process does or did so."""
        # Windows refuses while another process has the file open; the next record tries again.
        with suppress(OSError), file_lock(self._lock_path) as taken:
            if taken and self._is_full(self._path.stat(), line):
                self._shift()

    def _shift(self) -> None:
        # Only up to the first free place: a rotation that failed half-way then pushes nothing out.
        free = next((place for place, file in enumerate(self._files) if not file.exists()), len(self._files) - 1)
        for place in range(free, 0, -1):
            os.replace(self._files[place - 1], self._files[place])

    def _failed(self, error: OSError) -> None:
        self._unrecorded += 1
        if self._unrecorded == 1:
            self._tell(f"calls are not being recorded: {self._path} cannot be written: {error.strerror or error}")

    def _succeeded(self) -> None:
        if self._unrecorded:
            missed, self._unrecorded = self._unrecorded, 0
            self._tell(f"calls are recorded again in {self._path}; {missed} could not be recorded")

    def _tell(self, message: str) -> None:
        # The listener's own trouble must not stop a call either.
        with suppress(Exception):
            self._on_trouble(message)


def _line(record: AuditRecord) -> bytes:
    fields = {
        "time": datetime.fromtimestamp(record.time, UTC).isoformat(timespec="milliseconds"),
        "caller": _shown(record.caller),
        "face": _shown(record.face),
        "server": _shown(record.server),
        "tool": _shown(record.tool),
        "argumentNames": [_shown(name) for name in record.argument_names[:_MAX_NAMES]],
        "outcome": _shown(record.outcome),
        "durationMs": round(record.duration_ms, 3),
        "argumentBytes": record.argument_bytes,
        "resultBytes": record.result_bytes,
        **({"questions": record.questions} if record.questions else {}),
    }
    # Plain ASCII: no character of a name can end a line in any reader, or steer a terminal that shows it.
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


@lru_cache(maxsize=1024)  # the same names come with every call
def _shown(text: str) -> str:
    # Masked before it is cut: half a secret is not recognised any more.
    shown = mask_text(text[: 8 * _MAX_CHARACTERS])
    return shown if len(shown) <= _MAX_CHARACTERS else shown[: _MAX_CHARACTERS - 1] + "…"


def _append_whole(descriptor: int, line: bytes) -> None:
    written = os.write(descriptor, line)
    if written == len(line):
        return
    # The disk filled up within the line: take the piece back, unless someone has written after it.
    end = os.lseek(descriptor, 0, os.SEEK_CUR)
    if os.fstat(descriptor).st_size == end:
        os.ftruncate(descriptor, end - written)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
