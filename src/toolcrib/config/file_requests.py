"""Requests about files with servers that gateways met in folders, as they are kept: where, in which state, since when."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolcrib.config.documents import read_bytes
from toolcrib.config.settings import UntrustedFile
from toolcrib.errors import ConfigurationError
from toolcrib.files.one_step import write_in_one_step

MOST_REQUESTS = 200


@dataclass(frozen=True, slots=True)
class FileRequest:
    """One content of a file that a person is asked about; `by`, `at` and `reason` say who moved it to its state.

    `version` counts the requests about one file.
    """

    path: str
    sha256: str
    since: float
    version: int = 1
    state: str = "pending"
    by: str = ""
    at: float = 0.0
    reason: str = ""

    @property
    def id(self) -> str:
        """What a person calls it by; another content of the same file is another request."""
        words = [self.sha256, self.path, *([str(self.version)] if self.version > 1 else [])]
        return f"file-{hashlib.sha256(' '.join(words).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"

    def is_about(self, path: Path, sha256: str) -> bool:
        return self.path == str(path) and self.sha256 == sha256


class FileRecord:
    """All of them, in one file of ours; one that can't be read counts as empty."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> list[FileRequest]:
        """The oldest first."""
        try:
            return sorted(map(_read_row, json.loads(read_bytes(self._file))), key=lambda one: one.since)
        except (ConfigurationError, ValueError, TypeError, KeyError, RecursionError):
            return []

    def save(self, changed: Iterable[FileRequest]) -> None:
        """Each takes the place of the one with its id."""
        known = {one.id: one for one in (*self.all(), *changed)}
        newest = sorted(known.values(), key=lambda one: one.since)[-MOST_REQUESTS:]
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_in_one_step(self._file, json.dumps([asdict(one) for one in newest], indent=2).encode())

    def is_rejected(self, file: UntrustedFile) -> bool:
        """Whether a person has said no to exactly this content."""
        about = (one for one in self.all() if one.is_about(file.path, file.sha256))
        newest = max(about, key=lambda one: one.version, default=None)
        return newest is not None and newest.state == "rejected"


def _read_row(row: dict[str, Any]) -> FileRequest:
    # Before decisions were kept, a row only said whether a person had rejected it.
    was_rejected = row.pop("rejected", False)
    return FileRequest(**{"state": "rejected" if was_rejected else "pending", **row})


def content_of(file: Path) -> bytes | None:
    """What a file holds, or None where it is not there or is no file to read."""
    try:
        return read_bytes(file)
    except ConfigurationError:
        return None


def digest_of(file: Path) -> str:
    """The hash of what a file holds; empty where it is not there."""
    content = content_of(file)
    return "" if content is None else digest(content)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
