"""Where a browser comes back to after a sign-in: one page on this machine's loopback address, for one answer."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

_HOST = "127.0.0.1"
_PATH = "/callback"
# Systems give connections ports above these, and known services have ports below.
_FIRST_PORT, _PORTS = 20_000, 10_000
_TRIES = 10
_HEAD_BYTES = 16 * 1024
_HEAD_SECONDS = 10.0
_MOST_PARAMETERS = 50
_COMMON = (
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
    "Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n"
)
# Always the same words: nothing of what came is shown again.
_DONE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Toolcrib</title>"
    "<p>Toolcrib has the answer. You can close this page and go back to your terminal.</p></html>"
)
_NOT_FOUND = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Toolcrib</title><p>There is nothing here.</p></html>"
)


class Callback:
    """Takes one answer, and only one that carries the state of the request it is for."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.redirect = ""

    async def listen(self, port: int) -> None:
        """Listen on this port, or on a free one if it is 0; raises OSError where it is taken."""
        self._server = await (self._started(port) if port else self._started_anywhere())
        self.redirect = f"http://{_HOST}:{self._server.sockets[0].getsockname()[1]}{_PATH}"

    async def _started(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._serve, _HOST, port, limit=_HEAD_BYTES)

    async def _started_anywhere(self) -> asyncio.Server:
        """On a port that is likely to be free the next time too, since services may remember it."""
        for _ in range(_TRIES):
            with suppress(OSError):
                return await self._started(_FIRST_PORT + secrets.randbelow(_PORTS))
        return await self._started(0)

    def expect(self, state: str) -> None:
        """The answer to come belongs to the request that was made with this state."""
        self._state = state

    def take(self, address: str) -> bool:
        """The address to which a browser was sent, in full; False where it is not the answer that is expected."""
        try:
            parts = urlsplit(address.strip())
            given = dict(parse_qsl(parts.query, max_num_fields=_MOST_PARAMETERS))
        except ValueError:
            return False
        if parts.path != _PATH or not self._state or self._answer.done():
            return False
        if not hmac.compare_digest(given.get("state", "").encode(), self._state.encode()):
            return False
        self._answer.set_result(given)
        return True

    async def answer(self) -> dict[str, str]:
        """The parameters that the browser brought."""
        return await asyncio.shield(self._answer)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                is_ours = self._is_ours(head.split(b"\r\n", 1)[0].decode("latin-1"))
                writer.write(_response(is_ours=is_ours))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _is_ours(self, request_line: str) -> bool:
        method, _, rest = request_line.partition(" ")
        return method == "GET" and self.take(rest.rpartition(" ")[0])


def _response(*, is_ours: bool) -> bytes:
    status, page = ("200 OK", _DONE) if is_ours else ("404 Not Found", _NOT_FOUND)
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(page)}\r\n{_COMMON}\r\n"
    )
    return (head + page).encode()
