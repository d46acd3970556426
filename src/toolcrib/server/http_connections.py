"""Connections of the HTTP face: how many there may be, and how long one may take to say what it wants."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import h11
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

# Connections beyond the limit are read just long enough to be refused; more than these at once are cut off.
MOST_REFUSED = 64
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections are served at once, how long the head and the body of a request may take, and how long a client
    may leave unread what it is sent.
    """

    connections: int = 512
    head_seconds: float = 10.0
    body_seconds: float = 60.0
    unread_seconds: float = 60.0


class House:
    """Who is connected. When it is full, the one that has been without a request for longest makes room for a new one."""

    def __init__(
        self, limits: Callable[[], ConnectionLimits], when_full: str = "too many connections; see http.maxConnections"
    ) -> None:
        self.limits = limits
        self.refusal = JSONResponse({"error": when_full}, 503, {"connection": "close", "retry-after": "1"})
        # Dictionaries for their order: the first entry is the oldest.
        self._guests: dict[BoundedConnection, None] = {}
        self._refused: dict[BoundedConnection, None] = {}

    def enter(self, connection: BoundedConnection) -> bool:
        """Whether the newcomer will be served; if not it is told so, or cut off where too many are."""
        if len(self._guests) < self.limits().connections or _make_room(self._guests):
            self._guests[connection] = None
            return True
        if len(self._refused) < MOST_REFUSED or _make_room(self._refused):
            self._refused[connection] = None
        else:
            connection.cut_off()
        return False

    def leave(self, connection: BoundedConnection) -> None:
        self._guests.pop(connection, None)
        self._refused.pop(connection, None)

    def is_idle_now(self, connection: BoundedConnection) -> None:
        """It has got its answer: those who wait longer than it does go before."""
        if connection in self._guests:
            del self._guests[connection]
            self._guests[connection] = None


def _make_room(connections: dict[BoundedConnection, None]) -> bool:
    idle = next((connection for connection in connections if connection.is_idle), None)
    if idle is None:
        return False
    del connections[idle]
    idle.cut_off()
    return True


class BoundedConnection(H11Protocol):
    """uvicorn's connection, which itself waits for the rest of a request without end."""

    def __init__(self, house: House, **parts: Any) -> None:
        super().__init__(**parts)
        self._house = house
        limits = house.limits()
        self._seconds: Mapping[Any, float] = {h11.IDLE: limits.head_seconds, h11.SEND_BODY: limits.body_seconds}
        self._unread_seconds = limits.unread_seconds
        self._unread: asyncio.TimerHandle | None = None
        self._watched: Any = None
        self._clock: asyncio.TimerHandle | None = None
        self._has_asked = False

    @property
    def is_idle(self) -> bool:
        """Whether no request was understood yet, or the last one is answered."""
        return not self._has_asked or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._house.enter(self):
            self.app = self._house.refusal
        self._watch()

    def pause_writing(self) -> None:
        """The client takes nothing for now; what waits for it must not stay in our memory for ever."""
        super().pause_writing()
        self._unread = self.loop.call_later(self._unread_seconds, self.cut_off)

    def resume_writing(self) -> None:
        self._stop_waiting_for_reader()
        super().resume_writing()

    def _stop_waiting_for_reader(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._house.leave(self)
        self._stop_clock()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._has_asked = bool(self.cycle)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._house.is_idle_now(self)
        self._watch()

    def shutdown(self) -> None:
        with contextlib.suppress(h11.LocalProtocolError):  # one that is in the middle of saying something
            super().shutdown()
            return
        self.cut_off()

    def cut_off(self) -> None:
        self._stop_clock()
        self.transport.abort()

    def _watch(self) -> None:
        """Let the clock run while a head or a body is awaited; it starts anew where one follows the other."""
        state = self.conn.their_state
        if state is self._watched:
            return
        self._stop_clock()
        self._watched = state
        if state in self._seconds and not self.transport.is_closing():
            self._clock = self.loop.call_later(self._seconds[state], self._too_late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_late(self) -> None:
        if self.is_idle and self.conn.our_state is h11.IDLE:
            self.transport.write(_TOO_LATE)
            self.transport.close()
        else:
            self.cut_off()
