"""The files in which AI clients keep servers of a project: they join its workspace once a person trusts them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolcrib.clients.dialects import hidden, revealed
from toolcrib.clients.machine import is_there
from toolcrib.config.dangerous_variables import set_by
from toolcrib.config.diagnostics import Findings
from toolcrib.config.documents import parse_document, read_bytes
from toolcrib.config.project_folder import project_folder
from toolcrib.config.settings import SourceState, UntrustedFile
from toolcrib.config.source_types import SOURCE_TYPES
from toolcrib.config.trust import TrustedFiles
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import FROM_PROJECT, Launch, Origin, RemoteLaunch, ServerSpec
from toolcrib.model.shell_words import shell_word

# Each in the manner of the client whose it is.
PROJECT_FILES: Mapping[str, str] = {
    ".mcp.json": "claude-code",
    ".cursor/mcp.json": "cursor",
    ".vscode/mcp.json": "vscode",
}
_FOLDER = "${workspaceFolder}"


@dataclass(slots=True)
class ProjectImport:
    """The servers of the files that are trusted, the files that are not, and every file that was looked for."""

    specs: list[ServerSpec] = field(default_factory=list)
    untrusted: list[UntrustedFile] = field(default_factory=list)
    states: list[SourceState] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def project_candidates(folder: Path) -> Iterator[Path]:
    """The files of this kind that are in a folder."""
    return (file for name in PROJECT_FILES if is_there(file := folder / name))


def is_project_file(file: Path) -> bool:
    """Whether a file is one of these, by its name and place."""
    return file.absolute().relative_to(project_folder(file.absolute())).as_posix() in PROJECT_FILES


def import_project(
    folder: Path, trusted: TrustedFiles, is_rejected: Callable[[UntrustedFile], bool], findings: Findings
) -> ProjectImport:
    """What the files of this folder give; nothing in one that nobody has agreed to is used.

    It is said of one that a person has not decided about.
    """
    found = ProjectImport(files=[folder / name for name in PROJECT_FILES])
    for file in project_candidates(folder):
        own = Findings()
        content = _content(file)
        if content is None or not trusted.is_trusted(file, content):
            untrusted = UntrustedFile(file, hashlib.sha256(content or b"").hexdigest())
            found.untrusted.append(untrusted)
            if not is_rejected(untrusted):
                findings.warn(_not_used(file, trusted))
            state = SourceState(FROM_PROJECT, str(file), "untrusted")
        else:
            specs = read_project_file(file, content, own)
            found.specs.extend(specs)
            state = SourceState(FROM_PROJECT, str(file), "broken" if own.fatal else "found", len(specs))
        # A slip in a project's file costs that file alone.
        findings.problems.extend([*own.fatal, *own.problems])
        findings.warn(*own.warnings)
        found.states.append(state)
    return found


def read_project_file(file: Path, content: bytes, findings: Findings) -> list[ServerSpec]:
    """The servers of one file, but for those that set variables which make other programs run."""
    file = file.absolute()
    kind = PROJECT_FILES[file.relative_to(project_folder(file)).as_posix()]
    try:
        document = parse_document(content, file)
    except ConfigurationError as error:
        findings.fatal.extend(error.problems)
        return []
    specs = SOURCE_TYPES[kind].read(document, Origin(FROM_PROJECT, str(file)), findings)
    return list(_harmless((_in_folder(spec, project_folder(file)) for spec in specs), file, findings))


def as_written(launch: Launch) -> Launch:
    """What the file itself says, for whoever decides about it: in a launch its literal text is told from references of ours."""
    return _each_text(launch, revealed)


def _content(file: Path) -> bytes | None:
    try:
        return read_bytes(file)
    except ConfigurationError:
        return None


def _not_used(file: Path, trusted: TrustedFiles) -> str:
    return (
        f"the servers of {file} are not used: {trusted.why_not(file)}. "
        f"`toolcrib trust {shell_word(str(file))}` shows them and uses them from then on"
    )


def _harmless(specs: Iterable[ServerSpec], file: Path, findings: Findings) -> Iterator[ServerSpec]:
    for spec in specs:
        if names := set_by(spec.launch):
            refusal = "a project's file may not set it, since it can make programs run other code"
            findings.skip(f"{spec.name}.env", f"{', '.join(names)}: {refusal}; add the server yourself", str(file))
        else:
            yield spec


def _in_folder(spec: ServerSpec, folder: Path) -> ServerSpec:
    """The entry with the one variable of editors that can be told here."""
    place = hidden(str(folder))

    def told(text: str) -> str:
        return text.replace(_FOLDER, place)

    return replace(spec, launch=_each_text(spec.launch, told))


def _each_text(launch: Launch, told: Callable[[str], str]) -> Launch:
    if isinstance(launch, RemoteLaunch):
        return replace(launch, url=told(launch.url), headers={key: told(text) for key, text in launch.headers.items()})
    return replace(
        launch,
        command=told(launch.command),
        args=tuple(map(told, launch.args)),
        env={name: told(text) for name, text in launch.env.items()},
        env_file=told(launch.env_file) if launch.env_file else None,
        cwd=told(launch.cwd) if launch.cwd else None,
    )
