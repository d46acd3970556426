"""Files of capabilities back into the catalog: as proposals, whatever folder they lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.approvals.proposal import Proposal
from toolcrib.ccos.export import ENDING, SERVER_FILE, by_server, read_facts
from toolcrib.ccos.manifest import Manifest
from toolcrib.ccos.rtfs_form import manifests_in
from toolcrib.clients.machine import is_there
from toolcrib.errors import ApprovalRefused, Problem, RtfsError, ValidationError
from toolcrib.masking.spans import MASK
from toolcrib.model.server import Launch, RemoteLaunch, StdioLaunch
from toolcrib.schema.json_schema import json_schema

MOST_FILES = 5_000
MOST_FILE_BYTES = 1_000_000
SOURCE = "import"
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """What lay in the files: capabilities by server, how each server is reached where that is known, and problems."""

    manifests: Mapping[str, list[Manifest]]
    launches: Mapping[str, Launch]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one server of the files."""

    server: str
    tools: int
    proposal: Proposal | None = None
    reason: str = ""


def read_capability_files(path: Path) -> ReadFiles:
    """All capabilities of a file, or of a folder and the folders in it; a file that can't be read costs itself alone."""
    manifests: list[Manifest] = []
    problems: list[Problem] = []
    launches: dict[str, Launch] = {}
    facts_of: dict[Path, dict[str, Any]] = {}
    for file in _files(path, problems):
        try:
            found = manifests_in(_text(file))
        except (RtfsError, ValidationError) as error:
            problems.append(Problem("", error.message, str(file)))
            continue
        manifests += found
        if file.parent not in facts_of:
            facts_of[file.parent] = _facts(file.parent, problems)
        facts = facts_of[file.parent]
        for server, own in by_server(found).items():
            launch = _launch(facts if facts.get("name") == server else {}, own[0])
            if launch is not None:
                launches.setdefault(server, launch)
    return ReadFiles(by_server(manifests), launches, tuple(problems))


def propose_files(
    read: ReadFiles, propose: Callable[[ProposalRequest, str], Proposal], by: str, *, configured: Mapping[str, object]
) -> list[Imported]:
    """Propose every server of the files that is not configured already; nothing of them may be used before approval."""
    return [_proposed(server, own, read, propose, by, configured) for server, own in read.manifests.items()]


def _proposed(
    server: str,
    manifests: list[Manifest],
    read: ReadFiles,
    propose: Callable[[ProposalRequest, str], Proposal],
    by: str,
    configured: Mapping[str, object],
) -> Imported:
    if server in configured:
        return Imported(server, len(manifests), reason="it is configured; its tools are read from the server itself")
    launch = read.launches.get(server)
    if launch is None:
        return Imported(server, len(manifests), reason="the files do not say how to reach it")
    request = ProposalRequest(
        name=server,
        launch=launch,
        source=SOURCE,
        note="its tools come from files, not from the server",
        definitions=[definition_of(manifest) for manifest in manifests],
    )
    try:
        return Imported(server, len(manifests), propose(request, by))
    except ApprovalRefused as refused:
        return Imported(server, len(manifests), reason=refused.message)


def definition_of(manifest: Manifest) -> dict[str, Any]:
    """A tool definition that says as much as the manifest does."""
    definition: dict[str, Any] = {"name": manifest.provider.tool_name, "description": manifest.description}
    definition["inputSchema"] = {"type": "object"}
    if manifest.input_schema is not None:
        definition["inputSchema"] = json_schema(manifest.input_schema).schema
    if manifest.output_schema is not None:
        definition["outputSchema"] = json_schema(manifest.output_schema).schema
    return definition


def _files(path: Path, problems: list[Problem]) -> Iterator[Path]:
    if is_there(path) and path.is_file():
        yield path
        return
    if not is_there(path) or not path.is_dir():
        raise ValidationError(f"there is nothing at {path}", hint="Name a .rtfs file, or a folder with such files.")
    for number, file in enumerate(_below(path, _DEEPEST, problems)):
        if number == MOST_FILES:
            raise ValidationError(f"{path} holds more than {MOST_FILES} files", hint="Import a folder below it.")
        yield file


def _below(folder: Path, depth: int, problems: list[Problem]) -> Iterator[Path]:
    try:
        items = [(item, item.is_dir()) for item in sorted(folder.iterdir()) if not item.is_symlink()]
    except OSError as error:
        problems.append(Problem("", f"can't be read: {error.strerror or error}", str(folder)))
        return
    for item, is_folder in items:
        if is_folder and depth:
            yield from _below(item, depth - 1, problems)
        elif item.suffix == ENDING and item.is_file():
            yield item


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_FILE_BYTES:
            raise ValidationError(f"larger than {MOST_FILE_BYTES} bytes")
        return file.read_text("utf-8")
    except OSError as error:
        raise ValidationError(f"can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValidationError("is not UTF-8 text") from None


def _facts(folder: Path, problems: list[Problem]) -> dict[str, Any]:
    try:
        return read_facts(folder)
    except ValidationError as error:
        problems.append(Problem("", error.message, str(folder / SERVER_FILE)))
        return {}


def _launch(facts: Mapping[str, Any], manifest: Manifest) -> Launch | None:
    """How the server is reached: as `server.json` says, else at the address of the provider."""
    told = facts.get("launch")
    if isinstance(told, Mapping):
        command, args, url = told.get("command"), told.get("args"), told.get("url")
        if MASK in f"{command} {args} {url}":
            return None  # a secret was left out of the file, and without it this is another server
        if isinstance(command, str) and command:
            return StdioLaunch(command, tuple(filter(_is_text, args)) if isinstance(args, list) else ())
        if isinstance(url, str) and _is_web(url):
            return RemoteLaunch(url, transport="sse" if told.get("transport") == "sse" else "http")
    address = manifest.provider.server_url
    return RemoteLaunch(address) if _is_web(address) and MASK not in address else None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
