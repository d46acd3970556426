"""What a process that was killed leaves behind: files that never got to their place, and backups nobody needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from toolcrib.adoption.writes import temporary_prefix


def clear_temporaries(folders: Iterable[Path], tag: str) -> None:
    """Remove what under this tag was to take the place of a file in one of these folders.

    Only the holder of the lock may: nobody else with this tag is writing then.
    """
    for folder in set(folders):
        for temporary in _listed(folder, f"{temporary_prefix('*', tag)}*"):
            _remove(temporary)


def clear_backups(folder: Path, needed: Collection[str]) -> None:
    """Remove the backups in this folder, named relative to the one above it, that are not needed any more."""
    for backup in _listed(folder, "*/*.bak"):
        if backup.relative_to(folder.parent).as_posix() not in needed:
            _remove(backup)


def _listed(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _remove(file: Path) -> None:
    # What can't be removed now is tried again next time.
    with suppress(OSError):
        file.unlink()
