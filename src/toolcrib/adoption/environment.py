"""Variables that servers take from the environment, and what a client hands on of its own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from toolcrib.adoption.fit import texts_of
from toolcrib.adoption.own_launch import OwnLaunch
from toolcrib.config.secret_refs import named_variables
from toolcrib.model.server import Launch, ServerSpec, StdioLaunch

# Every client hands these on.
_GIVEN = frozenset("HOME LOGNAME PATH SHELL TERM USER LANG APPDATA LOCALAPPDATA SYSTEMROOT TEMP USERPROFILE".split())
_FOR_THE_NETWORK = re.compile(r"(?:HTTP|HTTPS|ALL|NO)_PROXY", re.IGNORECASE)
# How the keyring of a Linux desktop is reached.
_FOR_THE_KEYRING = "DBUS_SESSION_BUS_ADDRESS"


@dataclass(frozen=True, slots=True)
class Environment:
    """What of its own environment a client gives to a server it starts: nothing, unless one of these says more."""

    is_whole: bool = False
    # How a value in `env` names a variable, with NAME for its name; one that is not set may stay as this text.
    reference: str = ""
    # Whether an entry can list the names; one that is not set is left out.
    by_name: bool = False
    # What is not given even where the rest is.
    withheld: frozenset[str] = frozenset()

    def handed_on(self, names: Iterable[str], env: Mapping[str, str]) -> tuple[str, ...]:
        """The names that have to be in our entry for us to get what servers need, and the network."""
        if self.is_whole or not (self.by_name or self.reference):
            return ()
        network = [name for name in env if _FOR_THE_NETWORK.fullmatch(name)] if self.by_name else []
        return tuple(dict.fromkeys((*names, *network)))

    def lacks(self, name: str) -> bool:
        """Whether we would not get this variable, whatever we write."""
        return name in self.withheld if self.is_whole else not (self.by_name or self.reference)

    def given_to(self, launch: OwnLaunch, names: tuple[str, ...]) -> OwnLaunch:
        """The launch with what makes the client hand these variables on."""
        if self.by_name:
            return OwnLaunch(launch.command, launch.args, launch.env, names)
        named = {name: self.reference.replace("NAME", name) for name in names}
        return OwnLaunch(launch.command, launch.args, {**named, **launch.env})


NOTHING = Environment()


def needed_variables(specs: Iterable[ServerSpec]) -> tuple[str, ...]:
    """What these servers take from the environment, beyond what every program has."""
    names = (name for spec in specs for name in _of_launch(spec.launch))
    return tuple(dict.fromkeys(name for name in names if name.upper() not in _GIVEN))


def _of_launch(launch: Launch) -> Iterator[str]:
    for text in texts_of(launch):
        yield from named_variables(text)
        if "${keyring:" in text and sys.platform == "linux":
            yield _FOR_THE_KEYRING
    if isinstance(launch, StdioLaunch):
        yield from launch.pass_env
