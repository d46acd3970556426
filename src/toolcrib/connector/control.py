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
# An engine answers these at once; one that does not hangs.
ANSWER_SECONDS = 5.0


class Answer:
    """What an engine said about a word."""

    __slots__ = ("is_refused", "text")

    def __init__(self, text: str, *, is_refused: bool) -> None:
        self.text = text
        self.is_refused = is_refused


def told(place: EnginePlace, word: str, seconds: float = ANSWER_SECONDS) -> Answer | None:
    """What the engine at this place answers; None where none runs, or it does not answer in time."""
    try:
        link = EngineLink.to(place)
    except (NoEngine, UnsafePlace, OSError):
        return None
    try:
        link.greet(own_hello(CONTROL, VERSION, [word]))
        return _answer(link, seconds)
    except OSError:
        return None  # it ended meanwhile, or hangs
    finally:
        link.close()


def _answer(link: EngineLink, seconds: float) -> Answer | None:
    said = ""
    for word, text in link.heard(seconds):
        if word == words.SAY:
            said += text
        elif word == words.END:
            return Answer(said, is_refused=text == REFUSED)
    return None


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
