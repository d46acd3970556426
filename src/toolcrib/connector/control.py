"""A word to a running engine, and what it answers."""

from __future__ import annotations

import os
from collections.abc import Iterator

from toolcrib.connector import words
from toolcrib.connector.hello import CONTROL, own_hello
from toolcrib.connector.link import EngineLink, NoEngine
from toolcrib.connector.place import EnginePlace, UnsafePlace
from toolcrib.version import VERSION

# What an engine can be told.
STATUS, STOP, RESTART, RETIRE, MAKE_WAY = "status", "stop", "restart", "retire", "make-way"
# How it ends what it says about that.
DONE, REFUSED = "0", "1"


def told(place: EnginePlace, word: str) -> str | None:
    """What the engine at this place answers; None where none runs."""
    try:
        link = EngineLink.to(place)
    except (NoEngine, UnsafePlace, OSError):
        return None
    try:
        link.greet(own_hello(CONTROL, VERSION, [word]))
        return "".join(text for said, text in link.heard() if said == words.SAY)
    except OSError:
        return None  # it ended meanwhile
    finally:
        link.close()


def other_places(place: EnginePlace) -> Iterator[EnginePlace]:
    """Where engines of other versions and installations are that share files with this one."""
    try:
        files = os.listdir(place.folder)
    except OSError:
        return
    for file in sorted(files):
        name, dot, kind = file.rpartition(".")
        if dot and kind == "sock" and name != place.name and name.startswith(f"{place.house}-"):
            yield EnginePlace(place.folder, place.house, name)


def retire_others(place: EnginePlace) -> None:
    """Engines of other versions and installations need not wait for clients: those come to this place from now on."""
    for other in other_places(place):
        told(other, RETIRE)
