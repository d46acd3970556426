"""A listener with TLS that leaves no connection open behind it, whatever state each is in when the test ends."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from toolcrib.model.peer import PeerAddress

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

FAREWELL_SECONDS = 1.0


@asynccontextmanager
async def tls_listener(serve: Serve, context: ssl.SSLContext, host: str, port: int = 0) -> AsyncIterator[PeerAddress]:
    """`serve` answers each who comes; the address is where.

    `asyncio.start_server` knows nothing of whoever is still shaking hands when it closes (Python 3.11),
    so each connection is a task of ours from the moment it is accepted.
    """
    listening = socket.create_server((host, port), backlog=100)
    listening.setblocking(False)
    tasks: set[asyncio.Task[None]] = set()
    accepting = asyncio.create_task(_accept(listening, serve, context, tasks))
    try:
        yield PeerAddress(host, listening.getsockname()[1])
    finally:
        await _ended({accepting})
        listening.close()
        await _ended(tasks)


async def _accept(
    listening: socket.socket, serve: Serve, context: ssl.SSLContext, tasks: set[asyncio.Task[None]]
) -> None:
    while True:
        connection, _ = await asyncio.get_running_loop().sock_accept(listening)
        task = asyncio.create_task(_served(connection, serve, context))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def _served(connection: socket.socket, serve: Serve, context: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    # Whoever asks may have enough at any moment.
    with suppress(OSError, asyncio.IncompleteReadError):
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await serve(reader, writer)
        finally:
            await _farewell(writer)


async def _farewell(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        async with asyncio.timeout(FAREWELL_SECONDS):
            await writer.wait_closed()
    finally:
        writer.transport.abort()


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
