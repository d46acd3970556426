"""The engine's process: it listens before anything large is loaded, so that clients can queue up meanwhile.

Run as `python -m toolcrib.connector.engine_main FOLDER HOUSE NAME` by `connector.start`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module

from toolcrib.connector.place import EnginePlace
from toolcrib.connector.start import READY

BACKLOG = 256


class Occupied(Exception):
    """Another engine holds the place."""


class Claim:
    """An engine's hold on its place: the lock, and the socket that clients find."""

    def __init__(self, place: EnginePlace) -> None:
        self.place = place
        self._lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise Occupied(place.lock) from None
        try:
            os.ftruncate(self._lock, 0)
            os.write(self._lock, b"%d\n" % os.getpid())  # for people, and for a command that finds no one listening
            self.listener = _listening(place.socket)
        except OSError:
            os.close(self._lock)
            raise

    def give_up(self) -> None:
        """Let clients find nobody here; a new engine may take the place."""
        if self.listener.fileno() < 0:
            return
        with suppress(FileNotFoundError):
            os.unlink(self.place.socket)
        self.listener.close()
        os.close(self._lock)


def _listening(path: str) -> socket.socket:
    # Whoever holds the lock is the only engine: a socket that is there was left behind by one that was killed.
    with suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def main() -> int:
    place = EnginePlace(*sys.argv[1:4])
    place.check()
    # Whoever ends us before the engine listens to signals itself must not leave a socket behind.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        claim = Claim(place)
    except Occupied:
        print("another engine runs already", flush=True)
        return 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.write(1, READY)
        return int(import_module("toolcrib.host.process").run(claim))
    except BaseException:
        claim.give_up()
        raise


if __name__ == "__main__":
    raise SystemExit(main())
