"""How a server of a registry would be started or reached, and what a person has to give for it; nothing here starts anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolcrib.model.server import Transport

Kind = Literal["npm", "pypi", "oci", "nuget", "mcpb", "remote"]


class Refused(Exception):
    """Something in an entry that we do not put on a command line or into an address; the message says what."""


@dataclass(frozen=True, slots=True)
class Need:
    """A value asked for by name: the environment variable that is to hold it, and what it is for. Never the value."""

    variable: str
    purpose: str
    description: str = ""
    is_required: bool = True
    is_secret: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """A launch in the words of a configuration entry: an argument vector or an address.

    `${NAME}` stands for a value in `needs`; a `$` of the publisher is written `${$}`, so that nothing in foreign text
    can name a variable or a file of this machine.
    """

    kind: Kind
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    transport: Transport = "stdio"
    headers: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def runtime(self) -> str:
        """The program that must be installed; empty for an address."""
        return self.command[0] if self.command else ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An MCPB file: its command is known only once it was downloaded, checked against `sha256` and unpacked."""

    url: str
    sha256: str
    kind: Kind = "mcpb"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one way of running a server can't be used."""

    kind: str
    reason: str


Plan = Recipe | Bundle | Refusal
