"""Which configuration files of a working directory a person has agreed to, and in which state."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from toolcrib.config.documents import read_bytes
from toolcrib.config.project_folder import project_folder
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.files.one_step import write_in_one_step


@dataclass(frozen=True, slots=True)
class Agreement:
    """The content of a file that a person trusts, and who that was, when and why as far as it was kept."""

    sha256: str
    by: str = ""
    at: float = 0.0
    reason: str = ""


class TrustedFiles:
    """Paths with the hash each had when it was trusted; an edited file is not trusted until it is agreed to again."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def trust(self, path: Path, *, expected: str = "", by: str = "", at: float = 0.0, reason: str = "") -> str:
        """Trust the file as it is now; returns its SHA-256. Where that is another one than expected, it is not trusted."""
        digest = _digest(read_bytes(path))
        if expected and digest != expected:
            return digest
        self._write({**self._read(), trusted_name(path): Agreement(digest, by, at, reason)})
        return digest

    def is_trusted(self, path: Path, content: bytes | None = None) -> bool:
        """Whether this path was trusted with exactly this content (read from the file where not given)."""
        recorded = self._read().get(trusted_name(path))
        if recorded is None:
            return False
        try:
            return recorded.sha256 == _digest(read_bytes(path) if content is None else content)
        except ConfigurationError:
            return False

    def forget(self, path: Path) -> bool:
        """Trust the file no longer; false when it was not trusted."""
        entries = self._read()
        if entries.pop(trusted_name(path), None) is None:
            return False
        self._write(entries)
        return True

    def agreement_to(self, path: Path) -> Agreement | None:
        """What was agreed to of this file, whatever it holds now."""
        return self._read().get(trusted_name(path))

    def why_not(self, path: Path) -> str:
        """Why a file that is not trusted is not, in words."""
        return "it came with this folder" if self.agreement_to(path) is None else "it has changed since it was trusted"

    def agreements(self) -> dict[Path, Agreement]:
        return {Path(key): agreement for key, agreement in sorted(self._read().items())}

    def paths(self) -> tuple[Path, ...]:
        return tuple(Path(key) for key in sorted(self._read()))

    def _read(self) -> dict[str, Agreement]:
        # A record that cannot be read trusts nothing.
        try:
            entries = json.loads(read_bytes(self._file))
        except (ConfigurationError, ValueError, RecursionError):
            return {}
        if not isinstance(entries, dict):
            return {}
        read = {key: _read_agreement(value) for key, value in entries.items()}
        return {key: agreement for key, agreement in read.items() if agreement is not None}

    def _write(self, entries: dict[str, Agreement]) -> None:
        try:
            self._replace(entries)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(
                [Problem("", f"cannot be written: {reason}", str(self._file))],
                hint="Check the folder and its permissions.",
            ) from None

    def _replace(self, entries: dict[str, Agreement]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        written = {key: asdict(agreement) for key, agreement in entries.items()}
        content = json.dumps(written, indent=2, sort_keys=True).encode()
        write_in_one_step(self._file, content, durable=True)


def _read_agreement(value: object) -> Agreement | None:
    if isinstance(value, str):  # before it was kept who agreed
        return Agreement(value)
    if not isinstance(value, dict) or not isinstance(digest := value.get("sha256"), str):
        return None
    by, at, reason = value.get("by"), value.get("at"), value.get("reason")
    known_at = float(at) if isinstance(at, int | float) else 0.0
    return Agreement(digest, by if isinstance(by, str) else "", known_at, reason if isinstance(reason, str) else "")


def trusted_name(path: Path) -> str:
    """The name under which a file is trusted: where it really is.

    A link into another folder has a name of its own: there the same words may start other programs. So has one that has them
    read in another way: who was shown what `.mcp.json` gives to one client was not shown what it says to another one.
    """
    try:
        here = path.absolute()
        real, folder = path.resolve(), project_folder(here)
        is_the_same = project_folder(real) == folder.resolve() and _way_to_read(real) == _way_to_read(here)
        return str(real if is_the_same else folder.resolve() / here.relative_to(folder))
    except (OSError, ValueError, RuntimeError):
        return str(path)  # no file can be reached under this name, so none was ever trusted under it


def _way_to_read(file: Path) -> str:
    """What decides what a file says: its whole name, or for files of our own only how it ends."""
    is_anothers = file.name.endswith("mcp.json") or file.name.startswith("anygpt.config.")
    return file.relative_to(project_folder(file)).as_posix() if is_anothers else file.suffix


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
