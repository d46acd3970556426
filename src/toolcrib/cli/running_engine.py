"""What the engine that clients share says of itself, for commands that tell people about it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from toolcrib.connector.control import STATUS, told
from toolcrib.connector.place import EnginePlace, engine_place


def running_engine() -> dict[str, Any] | None:
    """The status of the engine that runs; None where none does, or it does not answer."""
    return None if sys.platform == "win32" else status_of(engine_place(os.environ))


def status_of(place: EnginePlace) -> dict[str, Any] | None:
    """The same for the engine at one place."""
    answer = told(place, STATUS)
    status: dict[str, Any] | None = None if answer is None else json.loads(answer.text)
    return status
