"""The connector's end of the socket: same user on the other side, one greeting, then words."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Sequence

from toolcrib.connector import words
from toolcrib.connector.hello import Hello
from toolcrib.connector.place import EnginePlace, UnsafePlace

CONNECT_SECONDS = 10.0
# The exit code of what an engine began and did not end, as of any work that failed.
LOST = 3
_READ_BYTES = 65536


class NoEngine(Exception):
    """Nobody listens."""


class EngineLink:
    """A connection to a running engine."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._rest = b""

    @classmethod
    def to(cls, place: EnginePlace) -> EngineLink:
        """Connect; NoEngine where none runs, UnsafePlace where it is not certain that it is ours."""
        try:
            place.check()
        except FileNotFoundError:
            raise NoEngine(place.folder) from None
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connecting.settimeout(CONNECT_SECONDS)
        try:
            connecting.connect(place.socket)
        except (FileNotFoundError, ConnectionRefusedError):
            connecting.close()
            raise NoEngine(place.socket) from None
        except BaseException:
            connecting.close()
            raise
        if peer_user(connecting) not in (None, os.getuid()):
            connecting.close()
            raise UnsafePlace(f"{place.socket} is answered by another user")
        return cls(connecting)

    def greet(self, hello: Hello, descriptors: Sequence[int] = ()) -> None:
        """Say who we are, and hand over copies of these descriptors."""
        frame = hello.encoded()
        sent = socket.send_fds(self._socket, [frame], list(descriptors)) if descriptors else 0
        if sent < len(frame):  # else the engine may have answered and closed already, and sending nothing would fail
            self._socket.sendall(frame[sent:])

    def say(self, word: str, text: str = "") -> None:
        self._socket.sendall(words.line(word, text))

    def heard(self, seconds: float | None = None) -> Iterator[tuple[str, str]]:
        """The engine's words as they come, until it closes the connection or is gone.

        TimeoutError where none comes for so many seconds.
        """
        self._socket.settimeout(seconds)
        while True:
            try:
                received = self._socket.recv(_READ_BYTES)
            except (ConnectionResetError, BrokenPipeError):
                return
            if not received:
                return
            *lines, self._rest = (self._rest + received).split(b"\n")
            for line in lines:
                yield words.split(line)

    def close(self) -> None:
        self._socket.close()


def peer_user(connected: socket.socket) -> int | None:
    """The user on the other side, where the system tells (Linux)."""
    if sys.platform != "linux":
        return None
    # struct ucred: process, user and group, an int each.
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder)
