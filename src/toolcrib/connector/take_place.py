"""Take the engine's place for this process; an engine in the background makes way, and its clients come here."""

from __future__ import annotations

import time
from collections.abc import Mapping

from toolcrib.connector.control import MAKE_WAY, told
from toolcrib.connector.engine_main import Claim, Occupied
from toolcrib.connector.place import EnginePlace, UnsafePlace, engine_place
from toolcrib.connector.start import CannotStart, starting

TAKE_SECONDS = 10.0
_PAUSE_SECONDS = 0.01


class NotTaken(Exception):
    """This process can't be the engine, for the reason given."""


def take_place(env: Mapping[str, str]) -> Claim:
    """The claim on the place where clients with these variables look for their engine; NotTaken where it can't be had."""
    place = engine_place(env)
    deadline = time.monotonic() + TAKE_SECONDS
    try:
        place.make_folder()
        # Held meanwhile: clients of the engine that makes way must not start another one.
        with starting(place, deadline):
            return _claimed(place, deadline)
    except TimeoutError:
        raise NotTaken(f"the engine that runs did not answer within {TAKE_SECONDS:g} s") from None
    except (UnsafePlace, CannotStart, OSError) as problem:
        raise NotTaken(str(problem)) from None


def _claimed(place: EnginePlace, deadline: float) -> Claim:
    is_making_way = False
    while True:
        try:
            return Claim(place)
        except Occupied:
            if time.monotonic() > deadline:
                raise TimeoutError from None
        is_making_way = is_making_way or _asked(place, deadline)
        time.sleep(_PAUSE_SECONDS)


def _asked(place: EnginePlace, deadline: float) -> bool:
    """Whether the engine says that it makes way; one that is just about to listen, or to end, says nothing yet."""
    answer = told(place, MAKE_WAY, max(_PAUSE_SECONDS, deadline - time.monotonic()))
    if answer is not None and answer.is_refused:
        raise NotTaken("another `toolcrib serve --http` serves them already")
    return answer is not None
