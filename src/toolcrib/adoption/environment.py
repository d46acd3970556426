"""Variables that servers take from the environment."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from toolcrib.adoption.fit import texts_of
from toolcrib.config.secret_refs import named_variables
from toolcrib.model.server import Launch, ServerSpec, StdioLaunch

# Every client hands these on.
_GIVEN = frozenset("HOME LOGNAME PATH SHELL TERM USER LANG APPDATA LOCALAPPDATA SYSTEMROOT TEMP USERPROFILE".split())
# How the keyring of a Linux desktop is reached.
_FOR_THE_KEYRING = "DBUS_SESSION_BUS_ADDRESS"


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
