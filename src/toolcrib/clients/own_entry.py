"""Our own entry in a client's file: what it starts, how it is spelled, and which variables the client hands on to us."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.model.server import BUILT_IN_SERVER

Entry = dict[str, Any]
_FOR_THE_NETWORK = re.compile(r"(?:HTTP|HTTPS|ALL|NO)_PROXY", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnLaunch:
    """The command, its arguments and its variables, before any client's spelling.

    `names` are variables that the client hands on as they are, where it can be asked to.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """What of its own environment a client gives to a server it starts: nothing, unless one of these says more."""

    is_whole: bool = False
    # How a value in `env` names a variable, with NAME for its name; one that is not set may stay as this text.
    reference: str = ""
    # The key of an entry that lists the names; one that is not set is left out.
    names_key: str = ""
    # What is not given even where the rest is.
    withheld: frozenset[str] = frozenset()

    def handed_on(self, names: Iterable[str], env: Mapping[str, str]) -> tuple[str, ...]:
        """The names that have to be in our entry for us to get what servers need, and the network."""
        if self.is_whole or not (self.names_key or self.reference):
            return ()
        network = [name for name in env if _FOR_THE_NETWORK.fullmatch(name)] if self.names_key else []
        return tuple(dict.fromkeys((*names, *network)))

    def lacks(self, name: str) -> bool:
        """Whether we would not get this variable, whatever we write."""
        return name in self.withheld if self.is_whole else not (self.names_key or self.reference)

    def given_to(self, launch: OwnLaunch, names: tuple[str, ...]) -> OwnLaunch:
        """The launch with what makes the client hand these variables on."""
        if self.names_key:
            return OwnLaunch(launch.command, launch.args, launch.env, names)
        named = {name: self.reference.replace("NAME", name) for name in names}
        return OwnLaunch(launch.command, launch.args, {**named, **launch.env})


NOTHING = Environment()
WHOLE = Environment(is_whole=True)
EDITOR_REFERENCES = Environment(reference="${env:NAME}")

Shape = Callable[[OwnLaunch], Entry]


def plain(launch: OwnLaunch) -> Entry:
    """The entry as most clients write one."""
    entry: Entry = {"command": launch.command, "args": list(launch.args)}
    return {**entry, "env": dict(launch.env)} if launch.env else entry


def typed(launch: OwnLaunch) -> Entry:
    return {"type": "stdio", **plain(launch)}


def named(launch: OwnLaunch) -> Entry:
    """An item of a list, which has its name in it."""
    return {"name": BUILT_IN_SERVER, **plain(launch)}
