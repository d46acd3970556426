"""Servers from the files of other programs: which files are asked for, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib.clients.machine import Machine, Places, is_there
from toolcrib.config.bridges import without_bridges
from toolcrib.config.diagnostics import Findings
from toolcrib.config.documents import parse_document, read_bytes
from toolcrib.config.names import did_you_mean
from toolcrib.config.settings import Source, SourceState
from toolcrib.config.source_types import SOURCE_TYPES, SourceType
from toolcrib.config.values import Reader, join, kind_of
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import Origin, ServerSpec
from toolcrib.model.shell_words import shell_word

AUTO = "auto"
MayRead = Callable[[Path, bytes], bool]


class _Untrusted(Exception):
    """A file that nobody has agreed to."""

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        self.file = file


@dataclass(slots=True)
class Imported:
    """What all sources gave, and every file that was looked for."""

    specs: list[ServerSpec] = field(default_factory=list)
    states: list[SourceState] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def auto_sources() -> tuple[Source, ...]:
    """Every kind of source whose owner keeps its file in a known place."""
    return tuple(Source(name) for name in SOURCE_TYPES if _has_usual_place(name))


def read_source_list(value: Any, where: str, source: str, findings: Findings) -> tuple[Source, ...]:
    """The `sources` section: `auto`, or a list of types and paths; a bad item costs itself alone."""
    if value is None:
        return ()
    if value == AUTO:
        return auto_sources()
    if not isinstance(value, list):
        findings.refuse(where, f"expected auto or a list of sources, found {kind_of(value)}", source)
        return ()
    items = (_read_item(item, join(where, index), source, findings) for index, item in enumerate(value))
    return tuple(item for found in items for item in found)


def import_sources(
    sources: Iterable[Source], machine: Machine, folder: Path, may_read: MayRead, findings: Findings
) -> Imported:
    """Read every source; relative paths are meant from `folder`.

    `may_read` can refuse a file that is named by its path; where its owner usually keeps it needs no consent.
    """
    imported = Imported()
    for source in sources:
        kind = SOURCE_TYPES[source.type]
        if source.path:
            file = _expanded(source.path, machine, folder)
            asks = None if _is_usual_place(file, kind, machine) else may_read
            _FileImport(source.type, kind, asks, findings, imported).read(file)
            continue
        _read_usual_places(_FileImport(source.type, kind, None, findings, imported), kind, machine, imported)
    return imported


def _read_item(item: Any, where: str, source: str, findings: Findings) -> list[Source]:
    reader = Reader(
        {"type": item} if isinstance(item, str) else item if isinstance(item, Mapping) else {}, where, source
    )
    kind, path = reader.text("type"), reader.text("path")
    if kind == AUTO:
        return list(auto_sources())
    if kind is None and not reader.problems:
        reader.expected("type", "a type of source", item if not isinstance(item, Mapping) else None)
    elif kind is not None and kind not in SOURCE_TYPES:
        known = ", ".join(SOURCE_TYPES)
        reader.fail("type", f"expected one of {known}, found '{kind}'{did_you_mean(kind, SOURCE_TYPES)}")
    elif kind is not None and not path and not reader.problems and not _has_usual_place(kind):
        reader.expected("path", "a path, this type has no usual place", path)
    findings.problems.extend(reader.problems)
    return [] if reader.problems or kind is None else [Source(kind, path)]


def _has_usual_place(name: str) -> bool:
    return bool(SOURCE_TYPES[name].places(Machine(Path())))


class _FileImport:
    """Reads files of one kind into what was imported; a bad file costs itself alone."""

    def __init__(
        self, name: str, kind: SourceType, may_read: MayRead | None, findings: Findings, imported: Imported
    ) -> None:
        self._name = name
        self._kind = kind
        self._may_read = may_read
        self._findings = findings
        self._imported = imported

    def read(self, file: Path, *, says_nothing_if_empty: bool = False) -> None:
        self._imported.files.append(file)
        if not is_there(file):
            self._imported.states.append(SourceState(self._name, str(file), "missing"))
            return
        own = Findings()
        specs, state = self._specs(file, own)
        # What would make our own file unusable costs no more than this source here.
        problems = [*own.fatal, *own.problems]
        self._findings.problems.extend(problems)
        self._findings.warn(*own.warnings)
        self._imported.specs.extend(specs)
        if specs or problems or own.warnings or not says_nothing_if_empty:
            self._imported.states.append(state)

    def _specs(self, file: Path, own: Findings) -> tuple[list[ServerSpec], SourceState]:
        origin = Origin(self._name, str(file))
        try:
            document = self._document(file)
            companions = self._kind.companions(file)
            if companions:
                document = {file.name: document, **self._companions(companions, file.parent, own)}
            read = self._kind.read(document, origin, own)
        except _Untrusted as error:
            own.warn(
                f"{error.file} is not read until it is trusted: look at it, then run "
                f"`toolcrib trust {shell_word(str(error.file))}`"
            )
            return [], SourceState(self._name, str(file), "untrusted")
        except ConfigurationError as error:
            own.fatal.extend(error.problems)
            read = []
        specs = [without_bridges(spec) for spec in read]
        return specs, SourceState(self._name, str(file), "broken" if own.fatal else "found", len(specs))

    def _document(self, file: Path) -> Any:
        content = read_bytes(file, self._kind.max_bytes)
        if self._may_read and not self._may_read(file, content):
            raise _Untrusted(file)
        return parse_document(content, file)

    def _companions(self, files: Places, folder: Path, own: Findings) -> dict[str, Any]:
        documents = {}
        for file in files:
            self._imported.files.append(file)
            if not is_there(file):
                continue
            try:
                documents[file.relative_to(folder).as_posix()] = self._document(file)
            except ConfigurationError as error:
                own.problems.extend(error.problems)
        return documents


def _read_usual_places(reading: _FileImport, kind: SourceType, machine: Machine, imported: Imported) -> None:
    places, more = kind.places(machine), kind.more(machine)
    imported.files.extend((*places, *more))
    states = len(imported.states)
    main = next((place for place in places if is_there(place)), None)
    if main:
        reading.read(main)
    for file in more:
        if is_there(file):
            reading.read(file, says_nothing_if_empty=True)
    if len(imported.states) == states:
        reading.read(places[0])


def _is_usual_place(file: Path, kind: SourceType, machine: Machine) -> bool:
    return file.absolute() in {place.absolute() for place in (*kind.places(machine), *kind.more(machine))}


def _expanded(path: str, machine: Machine, folder: Path) -> Path:
    if path == "~" or path.startswith(("~/", "~\\")):
        return machine.home / path[2:]
    return folder / path
