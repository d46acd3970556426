"""What a client's file lists, entry by entry, each read with the importer of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from toolcrib.adoption.claude_code import only_servers
from toolcrib.adoption.fit import why_it_stays
from toolcrib.adoption.read_back import checked
from toolcrib.clients.claude_code import FOLDERS, SERVERS
from toolcrib.clients.client import Client
from toolcrib.clients.machine import is_there
from toolcrib.config.bridges import is_bridged, without_bridges
from toolcrib.config.diagnostics import Findings
from toolcrib.config.documents import parse_document, read_bytes
from toolcrib.config.gateway_entry import OwnAddress, is_gateway
from toolcrib.config.source_types import SOURCE_TYPES
from toolcrib.edit.changes import Change, EditRefused, Place, look_up
from toolcrib.edit.document import edited
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.model.server import Origin, ServerSpec, StdioLaunch


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of a client's file; with a spec it can move, without one `stays` says why not."""

    key: str
    place: Place
    raw: Any = field(repr=False)
    spec: ServerSpec | None = None
    stays: str = ""
    is_gateway: bool = False
    # Its client reaches it through `mcp-remote`, which signs in for it.
    is_bridged: bool = False
    # The only folder in which its client uses it; empty for everywhere.
    folder: str = ""


@dataclass(frozen=True)
class ClientFile:
    """The file as it is now; `content` is None where there is none.

    Of a file that only its client's own program writes, it is what the file says about servers.
    """

    client: Client
    path: Path
    content: bytes | None = field(repr=False)

    @classmethod
    def read(cls, client: Client, path: Path) -> ClientFile:
        if not is_there(path):
            return cls(client, path, None)
        content = read_bytes(path, SOURCE_TYPES[client.name].max_bytes)
        return cls(client, path, only_servers(content, path) if client.has_program else content)

    @cached_property
    def document(self) -> Any:
        document = parse_document(self.content or b"", self.path)
        if not isinstance(document, Mapping):
            raise self.unusable("", "expected a map")
        return document

    @cached_property
    def container(self) -> Place:
        """Where the entries are; a file may also be nothing but the map of them."""
        found = [place for place in self.client.containers if look_up(self.document, place) is not None]
        if found:
            return found[0]
        entries = list(self.document.values())
        is_bare = entries and all(
            isinstance(entry, dict) and ("command" in entry or "url" in entry) for entry in entries
        )
        return () if is_bare else self.client.containers[0]

    def listed(self, own: OwnAddress) -> list[Listed]:
        """Every entry, in order."""
        return [self._listed(key, place, raw, own) for key, place, raw in self.entries()]

    def allowed(self) -> list[Any] | None:
        """The names of the only servers the client would start, where the file says so."""
        found = look_up(self.document, self.client.allowed) if self.client.allowed else None
        return found if isinstance(found, list) else None

    def edited(self, changes: Sequence[Change]) -> bytes:
        """The bytes of the file after the changes, which were read back as we would read them."""
        try:
            return checked(edited(self.content or b"", self.client.language, changes), self.path)
        except EditRefused as refused:
            raise self.unusable("", f"cannot be edited: {refused}") from None

    def unusable(self, where: str, message: str) -> ConfigurationError:
        return ConfigurationError([Problem(where, message, str(self.path))])

    def entries(self) -> Iterator[tuple[str, Place, Any]]:
        """Name, place and content of every entry as it is written."""
        yield from self._section(look_up(self.document, self.container))
        if not self.client.has_program:
            return
        for folder, project in (self.document.get(FOLDERS) or {}).items():
            servers = look_up(project, (SERVERS,))
            if isinstance(servers, dict):
                yield from ((key, (FOLDERS, folder, SERVERS, key), raw) for key, raw in servers.items())

    def _section(self, section: Any) -> Iterator[tuple[str, Place, Any]]:
        if section is None:
            return
        if not isinstance(section, list if self.client.is_list else dict):
            expected = "a list" if self.client.is_list else "a map"
            raise self.unusable(".".join(map(str, self.container)), f"expected {expected} of servers")
        if isinstance(section, dict):
            yield from ((key, (*self.container, key), raw) for key, raw in section.items())
            return
        for number, raw in enumerate(section):
            name = raw.get("name") if isinstance(raw, dict) else None
            yield str(name or number), (*self.container, number), raw

    def _listed(self, key: str, place: Place, raw: Any, own: OwnAddress) -> Listed:
        folder = str(place[1]) if place[: len(self.container)] != self.container else ""
        if not isinstance(raw, dict):
            return Listed(key, place, raw, stays="it is not a server entry", folder=folder)
        findings = Findings()
        # The importer sees a document with this entry alone, so that what it gives and says is about this one.
        alone = {SERVERS: {key: raw}} if folder else _with_only(self.document, self.container, key, raw)
        specs = SOURCE_TYPES[self.client.name].read(alone, Origin(self.client.name, str(self.path)), findings)
        if len(specs) != 1:
            problems = [problem.message for problem in (*findings.fatal, *findings.problems)]
            why = problems[0] if problems else "it is not a server that can be started"
            return Listed(key, place, raw, stays=why, folder=folder)
        spec = _in_folder(specs[0], folder)
        if is_gateway(spec.launch, own):
            return Listed(key, place, raw, is_gateway=True, folder=folder)
        stays = why_it_stays(raw, spec.launch)
        ours = None if stays else _without_bridge(spec)
        return Listed(key, place, raw, ours, stays, is_bridged=is_bridged(spec), folder=folder)


def _without_bridge(spec: ServerSpec) -> ServerSpec:
    """The server reached directly where only a bridge stands between; any other is as its client has it."""
    return without_bridges(spec) if is_bridged(spec) else spec


def _in_folder(spec: ServerSpec, folder: str) -> ServerSpec:
    """The server started where its client would start it."""
    if not folder or not isinstance(spec.launch, StdioLaunch) or spec.launch.cwd:
        return spec
    return replace(spec, launch=replace(spec.launch, cwd=folder))


def _with_only(document: Any, container: Place, key: str, raw: Any) -> Any:
    if not container:
        return {key: raw}
    first, *rest = container
    if rest:
        inner = _with_only(document[first], tuple(rest), key, raw)
    else:
        inner = [raw] if isinstance(document[first], list) else {key: raw}
    return {**document, first: inner}
