"""Which configuration file is used: the first found, and from the working directory only a trusted one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolcrib.clients.machine import is_there
from toolcrib.config.documents import parse_document, read_bytes
from toolcrib.config.paths import Paths, expanded
from toolcrib.config.sections import has_discovery_section
from toolcrib.config.settings import UntrustedFile
from toolcrib.config.trust import TrustedFiles
from toolcrib.errors import ConfigurationError
from toolcrib.model.shell_words import shell_word

EXTENSIONS = (".yaml", ".yml", ".json", ".toml", ".ts", ".js")
_FOLDER_STEM = ".anygpt/mcp-discovery.config"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A configuration file and its content; `is_project` when it lay in the working directory."""

    path: Path
    content: bytes
    is_project: bool = False


@dataclass(slots=True)
class Search:
    """The outcome of looking: the file if any, what to tell the user, and every place that was looked at.

    `is_rejected` tells of which files a person wants to hear nothing.
    """

    found: FoundFile | None = None
    untrusted: list[UntrustedFile] = field(default_factory=list)
    is_rejected: Callable[[UntrustedFile], bool] = lambda _: False
    notices: list[str] = field(default_factory=list)
    looked_for: list[Path] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    stem: Path
    is_project: bool = False
    needs_section: bool = False


def find_config(
    explicit: Path | None,
    *,
    env: Mapping[str, str],
    cwd: Path,
    home: Path,
    paths: Paths,
    trusted: TrustedFiles,
    is_rejected: Callable[[UntrustedFile], bool] = lambda _: False,
) -> Search:
    """The first configuration file in the search order; a named one must exist."""
    search = Search(is_rejected=is_rejected)
    named = explicit or (Path(env["TOOLCRIB_CONFIG"]) if env.get("TOOLCRIB_CONFIG") else None)
    if named is not None:
        path = cwd / expanded(named)
        search.found = FoundFile(path, read_bytes(path))
        search.looked_for.append(path)
        return search
    for place in _places(cwd, home, paths):
        search.found = _look(place, trusted, search)
        if search.found:
            return search
    return search


def find_own(home: Path, paths: Paths) -> Search:
    """The person's own configuration file, wherever they stand."""
    search = Search()
    for place in _own_places(home, paths):
        search.found = search.found or _look(place, TrustedFiles(paths.trusted_files), search)
    return search


def local_candidates(cwd: Path) -> Iterator[Path]:
    """The configuration files that are in a working directory, in search order; those that can't concern us left out."""
    for place in _local_places(cwd):
        for extension in EXTENSIONS:
            path = place.stem.with_name(place.stem.name + extension)
            if is_there(path) and (not place.needs_section or _may_have_section(path)):
                yield path


def _places(cwd: Path, home: Path, paths: Paths) -> Iterator[_Place]:
    theirs = {cwd / _FOLDER_STEM: cwd != home, cwd / "toolcrib": cwd != paths.config_dir}
    for place in _local_places(cwd):
        yield replace(place, is_project=theirs.get(place.stem, True))
    yield from _own_places(home, paths)


def _own_places(home: Path, paths: Paths) -> Iterator[_Place]:
    yield _Place(home / _FOLDER_STEM)
    yield _Place(paths.config_dir / "toolcrib")


def _local_places(cwd: Path) -> Iterator[_Place]:
    yield _Place(cwd / _FOLDER_STEM, is_project=True)
    yield _Place(cwd / "toolcrib", is_project=True)
    yield _Place(cwd / "anygpt.config", is_project=True, needs_section=True)


def _look(place: _Place, trusted: TrustedFiles, search: Search) -> FoundFile | None:
    for extension in EXTENSIONS:
        path = place.stem.with_name(place.stem.name + extension)
        search.looked_for.append(path)
        if not is_there(path):
            continue
        found = _read_trusted(path, trusted, search) if place.is_project else FoundFile(path, read_bytes(path))
        # `anygpt.config` configures a whole program; without our section it says nothing to us.
        if found and (not place.needs_section or has_discovery_section(parse_document(found.content, path))):
            return found
    return None


def _may_have_section(path: Path) -> bool:
    try:
        return has_discovery_section(parse_document(read_bytes(path), path))
    except ConfigurationError:
        return True


def _read_trusted(path: Path, trusted: TrustedFiles, search: Search) -> FoundFile | None:
    """A file of the working directory, if a person agreed to it as it is; nothing in it can stop us from starting."""
    content = b""
    try:
        content = read_bytes(path)
        if trusted.is_trusted(path, content):
            return FoundFile(path, content, is_project=True)
    except ConfigurationError:
        pass
    untrusted = UntrustedFile(path, hashlib.sha256(content).hexdigest())
    search.untrusted.append(untrusted)
    if search.is_rejected(untrusted):
        return None
    how = f"Look at it, then run `toolcrib trust {shell_word(str(path))}`"
    search.notices.append(f"{path} is not used: {trusted.why_not(path)}. {how}")
    return None
