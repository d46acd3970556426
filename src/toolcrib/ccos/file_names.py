"""Names of servers and tools as names of files: short, plain, never a path, and different ones stay different."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MOST_CHARACTERS = 80

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Names that Windows keeps for devices, whatever follows a dot.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


def file_name(name: str) -> str:
    """A name for a file; one that had to be changed ends in a trace of what it was."""
    safe = _UNSAFE.sub("_", name).strip(". ")[:MOST_CHARACTERS].rstrip(". ")
    if safe and safe == name and not _DEVICE.fullmatch(safe):
        return safe
    return marked(safe, name)


def marked(safe: str, name: str) -> str:
    """The file name with a mark that only this name has."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    stem = safe if safe and not _DEVICE.fullmatch(safe) else f"_{safe}"
    return f"{stem}-{digest}"


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for each; of those that a file system may take for the same, all but the first are marked."""
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        plain = file_name(name)
        chosen[name] = marked(plain, name) if plain.casefold() in taken else plain
        taken.add(chosen[name].casefold())
    return chosen
