"""Entries of a registry, of any schema date seen in the wild, become `RegistryServer`s; all of it is foreign text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from toolcrib.registry.entry import Argument, Input, Package, RegistryServer, Remote, Status

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9_][A-Za-z0-9._-]*")
LONGEST_NAME = 200
LONGEST_VERSION = 255
LONGEST_TEXT = 2_000
MOST_ITEMS = 64
_DEEPEST_VARIABLES = 3
_WIDEST_NUMBER = 64
_OFFICIAL_META = "io.modelcontextprotocol.registry/official"
_OLD_META = "x-io.modelcontextprotocol.registry"

Data = Mapping[str, Any]


class UnfitEntry(Exception):
    """An entry that is no server; the message says why."""


def parse_entry(entry: object, *, registry: str = "") -> RegistryServer:
    """One item of a list answer, or one server's answer: wrapped with what the registry says of it, or bare."""
    if not isinstance(entry, Mapping):
        raise UnfitEntry("it is not an object")
    server = entry.get("server")
    data: Data = server if isinstance(server, Mapping) else entry
    said = _registry_words(entry, data)
    detail = _map(data, "version_detail")
    return RegistryServer(
        name=_name(data),
        description=_text(data, "description"),
        version=(_text(data, "version") or _text(detail, "version"))[:LONGEST_VERSION],
        title=_text(data, "title", "display_name"),
        website=_text(data, "websiteUrl", "website_url"),
        repository=_text(_map(data, "repository"), "url"),
        packages=tuple(_package(item) for item in _maps(data, "packages")),
        remotes=tuple(_remote(item) for item in _maps(data, "remotes")),
        status=_status(_text(said, "status") or _text(data, "status")),
        status_message=_text(said, "statusMessage", "status_message"),
        published_at=_text(said, "publishedAt", "published_at") or _text(detail, "release_date"),
        updated_at=_text(said, "updatedAt", "updated_at"),
        is_latest=_flag_or_none(said, "isLatest", "is_latest", otherwise=_flag_or_none(detail, "is_latest")),
        registry=registry,
    )


def _name(data: Data) -> str:
    name = data.get("name")
    if not isinstance(name, str) or not name:
        raise UnfitEntry("it has no name")
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise UnfitEntry("its name is not of the form namespace/name")
    return name


def _registry_words(entry: Data, data: Data) -> Data:
    """What the registry says of the entry, wherever that schema date kept it."""
    for holder in (_map(entry, "_meta"), _map(data, "_meta")):
        if isinstance(found := holder.get(_OFFICIAL_META), Mapping):
            return found
    return _map(entry, _OLD_META)


def _status(text: str) -> Status:
    if text == "deprecated":
        return "deprecated"
    return "deleted" if text == "deleted" else "active"


def _package(data: Data) -> Package:
    transport = _map(data, "transport")
    return Package(
        registry_type=_text(data, "registryType", "registry_type", "registry_name").lower(),
        identifier=_text(data, "identifier", "name"),
        version=_text(data, "version")[:LONGEST_VERSION],
        registry_base_url=_text(data, "registryBaseUrl", "registry_base_url"),
        file_sha256=_text(data, "fileSha256", "file_sha256").lower(),
        runtime_hint=_text(data, "runtimeHint", "runtime_hint"),
        runtime_arguments=_arguments(data, "runtimeArguments", "runtime_arguments"),
        package_arguments=_arguments(data, "packageArguments", "package_arguments"),
        environment=tuple(_input(item) for item in _maps(data, "environmentVariables", "environment_variables")),
        transport=_text(transport, "type") or "stdio",
        transport_url=_text(transport, "url"),
    )


def _remote(data: Data) -> Remote:
    return Remote(
        type=_text(data, "type", "transport_type", "transportType").lower(),
        url=_text(data, "url"),
        headers=tuple(_input(item) for item in _maps(data, "headers")),
        variables=_variables(data),
    )


def _arguments(data: Data, *keys: str) -> tuple[Argument, ...]:
    return tuple(
        Argument(
            input=_input(item),
            is_named=_text(item, "type") == "named",
            value_hint=_text(item, "valueHint", "value_hint"),
        )
        for item in _maps(data, *keys)
    )


def _input(data: Data, depth: int = 0) -> Input:
    return Input(
        name=_text(data, "name"),
        description=_text(data, "description"),
        is_required=_flag(data, "isRequired", "is_required"),
        is_secret=_flag(data, "isSecret", "is_secret"),
        format=_text(data, "format") or "string",
        value=_text(data, "value"),
        default=_text(data, "default"),
        choices=tuple(choice for choice in _list(data, "choices") if isinstance(choice, str)),
        variables=_variables(data, depth + 1) if depth < _DEEPEST_VARIABLES else {},
    )


def _variables(data: Data, depth: int = 1) -> dict[str, Input]:
    held = islice(_map(data, "variables").items(), MOST_ITEMS)
    return {str(name): _input(value, depth) for name, value in held if isinstance(value, Mapping)}


def _text(data: Data, *keys: str) -> str:
    """The first of `keys` that holds something, as text; a number or a truth is written out."""
    for key in keys:
        value = data.get(key)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= _WIDEST_NUMBER):
            return str(value)
        if isinstance(value, str) and value:
            return value[:LONGEST_TEXT]
    return ""


def _flag(data: Data, *keys: str) -> bool:
    return bool(_flag_or_none(data, *keys))


def _flag_or_none(data: Data, *keys: str, otherwise: bool | None = None) -> bool | None:
    found = (data.get(key) for key in keys)
    return next((value for value in found if isinstance(value, bool)), otherwise)


def _map(data: Data, key: str) -> Data:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _list(data: Data, *keys: str) -> list[Any]:
    found = (data.get(key) for key in keys)
    return next((value[:MOST_ITEMS] for value in found if isinstance(value, list)), [])


def _maps(data: Data, *keys: str) -> Iterator[Data]:
    return (item for item in _list(data, *keys) if isinstance(item, Mapping))
