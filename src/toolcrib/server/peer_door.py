"""The door of the peer port: connections are accepted and made secure here, and few of them wait for that at a time."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from toolcrib.peers.keepalive import keepalive_options

log = logging.getLogger(__name__)

HANDSHAKE_SECONDS = 5.0
# Out of file descriptors: whoever waits outside is let in when some are free again.
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """How many connections may be in their handshake at once, in all and from one address."""

    waiting: int = 64
    waiting_per_host: int = 48


class PeerDoor:
    """Accepts connections; where too many are in their handshake, the oldest makes room for the newest.

    So one who connects and says nothing keeps nobody out for longer than it takes others to come.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        new_connection: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        limits: DoorLimits | None = None,
    ) -> None:
        self._listeners = listeners
        self._new_connection = new_connection
        self._context = context
        self._limits = limits or DoorLimits()
        # In the order in which they came.
        self._waiting: dict[asyncio.Task[None], str] = {}

    async def run(self) -> None:
        """Let peers in until cancelled; those in their handshake are sent away then."""
        accepting = [asyncio.create_task(self._accept(listener)) for listener in self._listeners]
        try:
            await asyncio.gather(*accepting)
        finally:
            waiting = [*accepting, *self._waiting]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connected, address = await loop.sock_accept(listener)
            except OSError as problem:
                if problem.errno in _NO_ROOM:
                    log.warning("no peer can connect now: %s", problem.strerror)
                    await asyncio.sleep(_PAUSE_SECONDS)
                continue
            self._make_room(str(address[0]))
            task = asyncio.create_task(self._shake_hands(connected))
            self._waiting[task] = str(address[0])
            task.add_done_callback(partial(self._ended, connected))

    def _make_room(self, host: str) -> None:
        of_host = [task for task, other in self._waiting.items() if other == host]
        if len(of_host) >= self._limits.waiting_per_host:
            self._send_away(of_host[0])
        elif len(self._waiting) >= self._limits.waiting:
            self._send_away(next(iter(self._waiting)))

    def _send_away(self, task: asyncio.Task[None]) -> None:
        self._waiting.pop(task)
        task.cancel()

    def _ended(self, connected: socket.socket, task: asyncio.Task[None]) -> None:
        self._waiting.pop(task, None)
        # Here and not in the task, which may be sent away before it has begun.
        if task.cancelled():
            connected.close()
        elif (problem := task.exception()) is not None:
            log.debug("a connection of a peer came to nothing: %r", problem)
            connected.close()

    async def _shake_hands(self, connected: socket.socket) -> None:
        # Without this a small answer may wait for the acknowledgement of the one before.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Without these a caller that is gone without a word would keep its place until its call ends.
        for option in keepalive_options():
            connected.setsockopt(*option)
        await asyncio.get_running_loop().connect_accepted_socket(
            self._new_connection, connected, ssl=self._context, ssl_handshake_timeout=HANDSHAKE_SECONDS
        )
