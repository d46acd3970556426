"""The door before libp2p, which lets connections that say nothing keep others out: they wait here, and make room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import trio

WAIT_SECONDS = 5.0
MOST_WAITING = 64
MOST_WAITING_OF_ONE = 48
MOST_INSIDE = 128
_CHUNK = 65_536


class Front:
    """Hands a connection on to the port behind it once the first byte has come."""

    def __init__(self, port_behind: int) -> None:
        self._port_behind = port_behind
        # Those that have said nothing yet, by when they came: their address, and what ends the wait.
        self._waiting: dict[object, tuple[str, trio.CancelScope]] = {}
        self._inside = 0

    async def run(self, listeners: Sequence[trio.SocketListener]) -> None:
        await trio.serve_listeners(self._take, list(listeners))

    async def _take(self, stream: trio.SocketStream) -> None:
        async with stream:
            with suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                first = await self._first_bytes(stream)
                if first and self._inside < MOST_INSIDE:
                    await self._relay(stream, first)

    async def _first_bytes(self, stream: trio.SocketStream) -> bytes:
        host = stream.socket.getpeername()[0]
        self._make_room(host)
        key, first = object(), b""
        with trio.move_on_after(WAIT_SECONDS) as patience:
            self._waiting[key] = (host, patience)
            try:
                first = bytes(await stream.receive_some(_CHUNK))
            finally:
                del self._waiting[key]
        return first

    def _make_room(self, host: str) -> None:
        """End the oldest wait where there are too many: of the same address first."""
        of_host = Counter(other for other, _ in self._waiting.values())[host]
        for other, patience in self._waiting.values():
            if patience.cancel_called:
                continue
            if (of_host >= MOST_WAITING_OF_ONE and other == host) or len(self._waiting) >= MOST_WAITING:
                patience.cancel()
                return

    async def _relay(self, stream: trio.SocketStream, first: bytes) -> None:
        self._inside += 1
        try:
            behind = await trio.open_tcp_stream("127.0.0.1", self._port_behind)
            async with behind:
                await behind.send_all(first)
                async with trio.open_nursery() as both:
                    both.start_soon(_pump, stream, behind, both.cancel_scope)
                    both.start_soon(_pump, behind, stream, both.cancel_scope)
        finally:
            self._inside -= 1


async def _pump(source: trio.SocketStream, sink: trio.SocketStream, ending: trio.CancelScope) -> None:
    try:
        while chunk := await source.receive_some(_CHUNK):
            await sink.send_all(chunk)
    except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    ending.cancel()
