"""The state of a server right now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["connected", "disconnected", "error"]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """`reason` says what a person can act on when `state` is error."""

    state: State
    reason: str = ""


CONNECTED = ServerStatus("connected")
DISCONNECTED = ServerStatus("disconnected")
