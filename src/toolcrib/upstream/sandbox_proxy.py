"""The way out of a sandbox for a server that may reach a few hosts: a proxy that connects to nobody else."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path

from toolcrib.model.addresses import is_public_address, is_public_host
from toolcrib.upstream.outbound import Resolve, addresses_of

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

log = logging.getLogger(__name__)

HTTPS_PORT = 443
_HEAD_BYTES = 8 * 1024
_HEAD_SECONDS = 10.0
_CONNECT_SECONDS = 10.0
_CHUNK_BYTES = 64 * 1024
_MOST_CONNECTIONS = 64
_INTO_YOUR_NETWORK = (
    "List that address in `sandbox.network`, if the server can use it, or let it reach everything (`network: all`)."
)


class HostProxy:
    """Listens on a socket of its own and hands connections on to the hosts it was given, `host` or `host:port`."""

    def __init__(self, hosts: Iterable[str], *, server: str, resolve: Resolve = addresses_of) -> None:
        self._server_name = server
        self._hosts = set(map(host_and_port, hosts))
        self._resolve = resolve
        self._folder = Path(tempfile.mkdtemp(prefix="toolcrib-"))
        self.path = self._folder / "proxy"
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._said: set[str] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, self.path, limit=_HEAD_BYTES)

    async def close_after(self, end: Callable[[], Awaitable[object]]) -> None:
        """Serve until that is over."""
        try:
            await end()
        finally:
            self.close()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._running:
            task.cancel()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            if len(self._running) > _MOST_CONNECTIONS:
                await _refuse(writer, "503 Too many connections")
            else:
                await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            self._running.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.partition(b" ")
        place = host_and_port(rest.partition(b" ")[0].decode("ascii", "replace"))
        if method != b"CONNECT" or place not in self._hosts:
            await _refuse(writer, "403 Not among the hosts that the sandbox of this server allows")
            return
        there = await self._connected(*place)
        if there is None:
            await _refuse(writer, "502 Can't be reached")
            return
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await _exchange((reader, writer), there)

    async def _connected(self, host: str, port: int) -> Streams | None:
        addresses = list(await self._resolve(host, port))
        if not addresses:
            self._say(host, "it has no address")
            return None
        # A name of the open network does not lead into our own.
        inside = [address for address in addresses if not is_public_address(address)]
        if inside and is_public_host(host):
            self._say(host, f"it leads to {inside[0]}, which is in your own network. {_INTO_YOUR_NETWORK}")
            return None
        for address in addresses:
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port)
            except OSError:
                continue
        self._say(host, f"nothing answers at port {port} of {', '.join(addresses)}")
        return None

    def _say(self, host: str, reason: str) -> None:
        """Once for each host: a server asks again and again, and learns no reason itself."""
        if host not in self._said:
            self._said.add(host)
            log.warning("%s, whose sandbox allows %s, can't reach it: %s", self._server_name, host, reason)


def host_and_port(text: str) -> tuple[str, int]:
    """`api.example.com`, `api.example.com:8443`, `[::1]:443`; port -1 where it is none."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(HTTPS_PORT)
    is_port = port.isdecimal() and len(port) <= 5 and 0 < int(port) < 65_536
    return host.strip("[]").rstrip(".").lower(), int(port) if is_port else -1


async def _exchange(here: Streams, there: Streams) -> None:
    """Hand on what each says until both have ended."""
    try:
        await asyncio.gather(_pump(here[0], there[1]), _pump(there[0], here[1]))
    finally:
        there[1].close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await source.read(_CHUNK_BYTES):
            sink.write(chunk)
            await sink.drain()
        sink.write_eof()


async def _refuse(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
    await writer.drain()
