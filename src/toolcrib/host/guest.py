"""Whoever comes in by the engine's socket: the same user, with a greeting that is short and comes at once."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from toolcrib.connector import words
from toolcrib.connector.hello import LENGTH_DIGITS, BadHello, Hello, frame_length
from toolcrib.connector.link import peer_user

GREETING_SECONDS = 5.0
# Those of a client (`server.kept_session`); a command has three.
MOST_DESCRIPTORS = 7


class Guest:
    """One connection: what the client's process said of itself, what it handed over, and the words after that."""

    def __init__(
        self, hello: Hello, descriptors: Sequence[int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.hello = hello
        self.descriptors = list(descriptors)
        self._reader = reader
        self._writer = writer

    @classmethod
    async def welcomed(cls, connected: socket.socket) -> Guest:
        """Hear the greeting; BadHello, TimeoutError or OSError where there is no proper one."""
        connected.setblocking(False)
        descriptors: list[int] = []
        try:
            if peer_user(connected) not in (None, os.getuid()):
                raise BadHello("another user")
            async with asyncio.timeout(GREETING_SECONDS):
                length = frame_length(await _exactly(connected, LENGTH_DIGITS, descriptors))
                hello = Hello.decoded(await _exactly(connected, length, descriptors))
            reader, writer = await asyncio.open_unix_connection(sock=connected)
        except BaseException:
            _close(descriptors)
            connected.close()
            raise
        return cls(hello, descriptors, reader, writer)

    def say(self, word: str, text: str = "") -> None:
        """Tell the client's process something, without waiting until it reads it."""
        if not self._writer.is_closing():
            self._writer.write(words.line(word, text))

    async def heard(self) -> AsyncIterator[str]:
        """The words that come, until the client's process is gone."""
        with suppress(OSError, ValueError):  # a word too long is none of ours
            while received := await self._reader.readline():
                yield words.split(received)[0]

    async def close(self) -> None:
        _close(self.descriptors)
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(GREETING_SECONDS):
                await self._writer.wait_closed()


async def _exactly(connected: socket.socket, count: int, descriptors: list[int]) -> bytes:
    """So many bytes; descriptors that come along are added to the list, of which there may be only a few."""
    data = b""
    while len(data) < count:
        await _readable(connected)
        try:
            more, received, flags, _ = socket.recv_fds(connected, count - len(data), MOST_DESCRIPTORS)
        except BlockingIOError:
            continue
        descriptors += received
        if not more or flags & socket.MSG_CTRUNC or len(descriptors) > MOST_DESCRIPTORS:
            raise BadHello("the greeting was broken off, or came with too many descriptors")
        data += more
    return data


async def _readable(connected: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connected, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connected)


def _close(descriptors: list[int]) -> None:
    while descriptors:
        with suppress(OSError):
            os.close(descriptors.pop())
