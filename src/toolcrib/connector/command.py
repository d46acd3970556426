"""A command that the running engine answers: it has everything loaded that a process of its own would load first."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from toolcrib.connector import words
from toolcrib.connector.hello import COMMAND, own_hello
from toolcrib.connector.link import LOST, EngineLink, NoEngine
from toolcrib.connector.place import UnsafePlace, engine_place
from toolcrib.version import VERSION


def run_in_engine(arguments: Sequence[str]) -> int | None:
    """The exit code; None where no engine runs, or it would rather have the command run here."""
    try:
        link = EngineLink.to(engine_place(os.environ))
    except (NoEngine, UnsafePlace, OSError):
        return None
    try:
        link.greet(own_hello(COMMAND, VERSION, arguments), [0, 1, 2])
    except OSError:
        link.close()
        return None

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second one ends us, also where the engine hangs
        with suppress(OSError):  # it has ended already
            link.say(words.STOP)

    interrupted = signal.signal(signal.SIGINT, stop)
    try:
        return _answered(link)
    finally:
        signal.signal(signal.SIGINT, interrupted)
        link.close()


def _answered(link: EngineLink) -> int | None:
    is_taken = False
    for word, text in link.heard():
        if word == words.TAKEN:
            is_taken = True
        elif word == words.END:
            return int(text)
        elif word == words.ALONE:
            return None
    if not is_taken:
        return None
    print("toolcrib: the engine ended while it ran this command; what it did is not known", file=sys.stderr)
    return LOST
