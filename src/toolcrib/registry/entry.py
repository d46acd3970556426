"""A server as a registry describes it, in our words: frozen values, nothing in them was checked for being safe to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["active", "deprecated", "deleted"]


@dataclass(frozen=True, slots=True)
class Input:
    """A value somebody has to give, or that the publisher fixed: of a variable, a header, an argument or a placeholder."""

    name: str = ""
    description: str = ""
    is_required: bool = False
    is_secret: bool = False
    format: str = "string"
    value: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    variables: Mapping[str, Input] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a command line; a named one carries its dashes in `input.name`."""

    input: Input
    is_named: bool = False
    value_hint: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """A way to run the server on this machine."""

    registry_type: str
    identifier: str
    version: str = ""
    registry_base_url: str = ""
    file_sha256: str = ""
    runtime_hint: str = ""
    runtime_arguments: tuple[Argument, ...] = ()
    package_arguments: tuple[Argument, ...] = ()
    environment: tuple[Input, ...] = ()
    transport: str = "stdio"
    transport_url: str = ""


@dataclass(frozen=True, slots=True)
class Remote:
    """An address at which the server already runs."""

    type: str
    url: str
    headers: tuple[Input, ...] = ()
    variables: Mapping[str, Input] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegistryServer:
    """One version of a server; `registry` is the base address it was read from. Times are RFC 3339 texts."""

    name: str
    description: str = ""
    version: str = ""
    title: str = ""
    website: str = ""
    repository: str = ""
    packages: tuple[Package, ...] = ()
    remotes: tuple[Remote, ...] = ()
    status: Status = "active"
    status_message: str = ""
    published_at: str = ""
    updated_at: str = ""
    is_latest: bool | None = None
    registry: str = ""

    @property
    def short_name(self) -> str:
        """The last part of the name, which says what the server is rather than whose."""
        return self.name.rpartition("/")[2]
