"""The kinds of source: every AI client by its record, and the formats that no client owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolcrib.clients.client import Client
from toolcrib.clients.machine import Places, PlacesOn, in_home, nowhere
from toolcrib.clients.table import CLIENTS
from toolcrib.config.documents import MAX_FILE_BYTES
from toolcrib.config.importers.ccos_overrides import read_ccos_overrides
from toolcrib.config.importers.client_entries import Importer, importer
from toolcrib.config.importers.custom_yaml import read_custom
from toolcrib.config.importers.docker_mcp import beside_registry, read_docker_mcp
from toolcrib.config.importers.mcp_json import read_mcp_json
from toolcrib.config.importers.praxis import read_praxis_source
from toolcrib.config.importers.toolcrib_own import read_toolcrib


@dataclass(frozen=True, slots=True)
class SourceType:
    """One kind of file: how it is read, and where its owner keeps it."""

    read: Importer
    # Of these the first that exists is read.
    places: PlacesOn = nowhere
    # Of these every one that exists is read too.
    more: PlacesOn = nowhere
    # Files that are read together with one file; the importer then gets a map of all by name.
    companions: Callable[[Path], Places] = lambda _: ()
    max_bytes: int = MAX_FILE_BYTES

    @classmethod
    def of(cls, client: Client) -> SourceType:
        most = client.max_bytes or MAX_FILE_BYTES
        return cls(importer(client.sections), client.places, client.more, max_bytes=most)


FORMATS: Mapping[str, SourceType] = {
    "docker-mcp": SourceType(
        read_docker_mcp,
        in_home(".docker/mcp-servers.json"),
        in_home(".docker/mcp/registry.yaml"),
        companions=beside_registry,
    ),
    "mcp-json": SourceType(read_mcp_json),
    "custom": SourceType(read_custom),
    "praxis": SourceType(read_praxis_source),
    "ccos-overrides": SourceType(read_ccos_overrides),
    "toolcrib": SourceType(read_toolcrib),
}
# The clients first: where one of them has Docker's own gateway, its servers are not wanted twice.
SOURCE_TYPES: Mapping[str, SourceType] = {
    **{name: SourceType.of(client) for name, client in CLIENTS.items()},
    **FORMATS,
}
