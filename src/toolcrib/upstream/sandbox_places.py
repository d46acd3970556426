"""What a sandbox shows of the person's files: the program and what the entry names, but nothing of Toolcrib's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from toolcrib.errors import NeedsConfiguration
from toolcrib.model.sandbox import Sandbox
from toolcrib.upstream.own_places import OwnPlaces
from toolcrib.upstream.program_folders import leads_out

_READ, _WRITE, _EMPTY = "--ro-bind", "--bind", "--tmpfs"


class ShownPlaces:
    """The places of one sandbox; those inside of others come after them.

    An empty folder stands where the person's own one would show a secret of Toolcrib or a socket of its engine: through that
    one, anything could be started outside of the sandbox.
    """

    def __init__(self, programs: Sequence[str], named: Mapping[str, str], own: OwnPlaces) -> None:
        self._programs = programs
        ours = set(_seen_at(_made(own.hidden, [*programs, *named]), [*programs, *named]))
        hidden = {path: _EMPTY for path in ours if not any(_is_below(path, place) for place in ours)}
        writable = [path for path, how in named.items() if how == _WRITE]
        fixed = dict.fromkeys(_seen_at(filter(os.path.exists, own.fixed), writable), _READ)
        # A mount stays in its place, but a folder above it could be moved away, and another one put there.
        held = {path: _WRITE for place in (*hidden, *fixed) for path in _between(place, named) if path not in fixed}
        places = {**held, **fixed, **named, **hidden}
        self._places = {path: places[path] for path in sorted(places, key=_depth)}
        self._hidden = list(hidden)

    def words(self) -> Iterator[str]:
        """The words for bubblewrap."""
        yield from _bound(self._programs)
        for path, how in self._places.items():
            yield from (how, path) if how == _EMPTY else (how, path, path)
        # A server may have its program in there, such as an unpacked bundle.
        yield from _bound(path for path in self._programs if any(_is_below(path, place) for place in self._hidden))
        # What was made to hang these up is memory, which has no limit here.
        yield from (word for path in self._hidden for word in ("--remount-ro", path))

    def has(self, path: str) -> bool:
        """Whether it is to be seen."""
        around = [place for place in (*self._programs, *self._places) if Path(path).is_relative_to(place)]
        nearest = max(around, key=_depth, default=None)
        return nearest is not None and self._places.get(nearest) != _EMPTY


def named_places(server: str, sandbox: Sandbox, own: OwnPlaces) -> dict[str, str]:
    """How each path that the entry names is shown; raises NeedsConfiguration where one may not be named."""
    for key, paths in (("read", sandbox.read), ("write", sandbox.write)):
        for path in paths:
            _check_named(server, path, key, sandbox.write)
            _check_not_ours(server, path, key, own)
            _check_not_the_kernels(server, path, key)
    return {**dict.fromkeys(sandbox.read, _READ), **dict.fromkeys(sandbox.write, _WRITE)}


def check_can_run(server: str, files: Iterable[str], shown: Sequence[str]) -> None:
    """Raise NeedsConfiguration where one of the files that the program consists of is not to be seen."""
    for file in files:
        if not any(Path(file).is_relative_to(place) for place in shown):
            raise NeedsConfiguration(
                f"the program is in a folder that the server may write, and leads to {file}, which its sandbox does not show",
                server=server,
                hint=f"If that is what you want, name {file}, or the folder that it needs, under `sandbox.read`.",
            )


def _check_named(server: str, path: str, key: str, writable: Sequence[str]) -> None:
    if not Path(path).is_absolute() or not Path(path).exists():
        raise NeedsConfiguration(
            f"{path} does not exist, which `sandbox.{key}` names",
            server=server,
            hint="Make it, or correct the entry.",
        )
    if leads_out(path, writable):
        raise NeedsConfiguration(
            f"{path} is a link out of a folder that the server may write, so it may be of its making",
            server=server,
            hint=f"Name what it leads to under `sandbox.{key}`, or remove it.",
        )


def _check_not_ours(server: str, path: str, key: str, own: OwnPlaces) -> None:
    if _is_in(path, own.hidden) and not (key == "read" and _is_in(path, own.programs)):
        raise NeedsConfiguration(
            f"{path}, which `sandbox.{key}` names, is in a folder of Toolcrib itself: whoever reaches that one can leave the sandbox",
            server=server,
            hint=f"Take it out of `sandbox.{key}`. If it is yours, move it elsewhere.",
        )
    if key == "write" and _is_in(path, own.fixed):
        raise NeedsConfiguration(
            f"{path}, which `sandbox.write` names, decides what Toolcrib starts: whoever writes it can leave the sandbox",
            server=server,
            hint="Name it under `sandbox.read`, or take it out.",
        )


def _check_not_the_kernels(server: str, path: str, key: str) -> None:
    """In there a server sees every process of the machine, and as root it changes the machine."""
    if _is_in(path, (Path("/proc"), *((Path("/sys"),) if key == "write" else ()))):
        raise NeedsConfiguration(
            f"{path}, which `sandbox.{key}` names, is not a file on a disk but the kernel's",
            server=server,
            hint=f"Take it out of `sandbox.{key}`: a sandbox has a /proc of its own.",
        )


def _is_in(path: str, places: Iterable[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(place)) for place in places)


def _seen_at(targets: Iterable[Path], places: Iterable[str]) -> Iterator[str]:
    """Where in these places the targets are to be seen, whatever links lead to them."""
    tops = [(place, os.path.realpath(place)) for place in places]
    for real in map(Path, map(os.path.realpath, targets)):
        yield from (str(Path(place) / real.relative_to(top)) for place, top in tops if real.is_relative_to(top))


def _made(folders: Iterable[Path], places: Sequence[str]) -> Iterator[Path]:
    """Those that are there; one that is missing where a sandbox could see it is made now, since it may be filled later."""
    for folder in folders:
        if not folder.exists() and any(_seen_at([folder], places)):
            with suppress(OSError):  # what we may not make, nobody who runs as we do can make later
                Path(os.path.realpath(folder)).mkdir(0o700, parents=True)
        if folder.is_dir():
            yield folder


def _between(place: str, named: Mapping[str, str]) -> Iterator[str]:
    """The folders above it that the server could move."""
    for folder in map(str, Path(place).parents):
        around = [top for top in named if _is_below(folder, top)]
        if around and named[max(around, key=_depth)] == _WRITE:
            yield folder


def _is_below(path: str, place: str) -> bool:
    return path != place and Path(path).is_relative_to(place)


def _bound(paths: Iterable[str]) -> Iterator[str]:
    return (word for path in paths for word in (_READ, path, path))


def _depth(path: str) -> int:
    return len(Path(path).parts)
