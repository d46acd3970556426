"""Which configuration files of a working directory a person has agreed to, and in which state."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from toolcrib.config.documents import read_bytes
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.files.one_step import write_in_one_step


class TrustedFiles:
    """Paths with the hash each had when it was trusted; an edited file is not trusted until it is agreed to again."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def trust(self, path: Path) -> str:
        """Trust the file as it is now; returns its SHA-256."""
        digest = _digest(read_bytes(path))
        self._write({**self._read(), trusted_name(path): digest})
        return digest

    def is_trusted(self, path: Path, content: bytes | None = None) -> bool:
        """Whether this path was trusted with exactly this content (read from the file where not given)."""
        recorded = self._read().get(trusted_name(path))
        if recorded is None:
            return False
        try:
            return recorded == _digest(read_bytes(path) if content is None else content)
        except ConfigurationError:
            return False

    def forget(self, path: Path) -> bool:
        """Trust the file no longer; false when it was not trusted."""
        entries = self._read()
        if entries.pop(trusted_name(path), None) is None:
            return False
        self._write(entries)
        return True

    def paths(self) -> tuple[Path, ...]:
        return tuple(Path(key) for key in sorted(self._read()))

    def _read(self) -> dict[str, str]:
        # A record that cannot be read trusts nothing.
        try:
            entries = json.loads(read_bytes(self._file))
        except (ConfigurationError, ValueError, RecursionError):
            return {}
        if not isinstance(entries, dict):
            return {}
        return {key: value for key, value in entries.items() if isinstance(value, str)}

    def _write(self, entries: dict[str, str]) -> None:
        try:
            self._replace(entries)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(
                [Problem("", f"cannot be written: {reason}", str(self._file))],
                hint="Check the folder and its permissions.",
            ) from None

    def _replace(self, entries: dict[str, str]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = json.dumps(entries, indent=2, sort_keys=True).encode()
        write_in_one_step(self._file, content, durable=True)


def trusted_name(path: Path) -> str:
    """The name under which a file is trusted: where it really is."""
    try:
        return str(path.resolve())
    except (OSError, ValueError, RuntimeError):
        return str(path)  # no file can be reached under this name, so none was ever trusted under it


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
