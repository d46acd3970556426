"""Standard input and output as asyncio pipes, with a fallback for what can't be one (a file, Windows)."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from toolcrib.wire.jsonrpc import Json, line_of
from toolcrib.wire.lines import LineSplitter
from toolcrib.wire.pipe_size import make_roomy, size_reads

# Fed instead of a line that has too many bytes. Not JSON, so it is answered with a parse error like any other broken line.
TOO_LONG = b"line too long"
READ_BYTES = 256 * 1024
# A client that leaves so much unread is not listened to until it has read it.
MOST_UNREAD_BYTES = 64 * 1024 * 1024


@contextmanager
def protocol_streams() -> Iterator[tuple[int, int]]:
    """The descriptors of standard input and output, moved away so that stray prints go to standard error."""
    read_fd, write_fd = os.dup(0), os.dup(1)
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    try:
        yield read_fd, write_fd
    finally:
        sys.stdout.flush()  # what was printed meanwhile and is still held back
        os.dup2(write_fd, 1)
        os.dup2(read_fd, 0)
        for fd in (read_fd, write_fd):
            with suppress(OSError):
                os.close(fd)


class _Lines(asyncio.Protocol):
    """Feeds whole lines as they arrive and tells when the other side is done."""

    def __init__(self, feed: Callable[[bytes], None], max_line_bytes: Callable[[], int]) -> None:
        self._feed = feed
        self._max_line_bytes = max_line_bytes
        self._splitter = LineSplitter(max_line_bytes())
        self._transport: asyncio.BaseTransport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        make_roomy(transport)

    def data_received(self, data: bytes) -> None:
        size_reads(self._transport, len(data))
        self._take(data)

    def _take(self, data: bytes) -> None:
        self._splitter.max_bytes = self._max_line_bytes()
        dropped = self._splitter.dropped
        for line in self._splitter.feed(data):
            self._feed(line)
        if self._splitter.dropped > dropped:
            self._feed(TOO_LONG)

    def eof_received(self) -> None:
        self._take(b"\n")  # the last line may lack its end

    def connection_lost(self, _: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class LineReader:
    """Reads lines from a descriptor until the end of input; a line may have as many bytes as are allowed when it comes.

    While it is paused nothing is read, so that a client that sends more and more has to wait.
    """

    def __init__(self, fd: int, feed: Callable[[bytes], None], max_line_bytes: Callable[[], int]) -> None:
        self._fd = fd
        self._lines = _Lines(feed, max_line_bytes)
        self._transport: asyncio.ReadTransport | None = None

    async def run(self) -> None:
        source = os.fdopen(os.dup(self._fd), "rb", buffering=0) if _can_be_polled(self._fd) else None
        if source is None or not await self._connect(source):
            await _read_in_thread(self._fd, self._lines)
            return
        try:
            await self._lines.ended
        finally:
            assert self._transport is not None
            self._transport.close()

    def pause(self) -> None:
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()

    async def _connect(self, source: BinaryIO) -> bool:
        try:
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self._lines, source)
        except (ValueError, OSError, NotImplementedError):
            source.close()
            return False
        except asyncio.CancelledError:
            source.close()
            raise
        return True


async def _read_in_thread(fd: int, lines: _Lines) -> None:
    while chunk := await asyncio.to_thread(os.read, fd, READ_BYTES):
        lines.data_received(chunk)
    lines.eof_received()


def _can_be_polled(fd: int) -> bool:
    # asyncio takes every character device for a pipe, and learns too late that /dev/null is none.
    return os.isatty(fd) or not stat.S_ISCHR(os.fstat(fd).st_mode)


class _WriteEnd(asyncio.BaseProtocol):
    """Tells when a pipe we write to is full, empty, and done with."""

    def __init__(self) -> None:
        self.on_empty: Callable[[], None] = lambda: None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def pause_writing(self) -> None:
        """Nothing: the reader is paused where too much is left unread."""

    def resume_writing(self) -> None:
        self.on_empty()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)


class LineWriter:
    """Writes lines without waiting; what the client does not take in time stays in memory until `close`."""

    def __init__(self, fd: int, pipe: tuple[asyncio.WriteTransport, _WriteEnd] | None) -> None:
        self._fd = fd
        self._pipe = pipe
        self._reader: LineReader | None = None

    @classmethod
    async def open(cls, fd: int) -> LineWriter:
        target = os.fdopen(os.dup(fd), "wb", buffering=0)
        try:
            pipe = await asyncio.get_running_loop().connect_write_pipe(_WriteEnd, target)
        except (ValueError, OSError, NotImplementedError):
            target.close()
            return cls(fd, None)
        make_roomy(pipe[0])
        pipe[0].set_write_buffer_limits(high=0)  # we are told when the client has read everything
        return cls(fd, pipe)

    def hold_back(self, reader: LineReader) -> None:
        """Let a client that does not read what it is told say nothing more, until it has read all of it."""
        self._reader = reader
        if self._pipe is not None:
            self._pipe[1].on_empty = reader.resume

    def write(self, *parts: Json) -> None:
        line = line_of(*parts)
        if self._pipe is None:
            self._write_now(line)
            return
        transport = self._pipe[0]
        transport.write(line)
        if self._reader is not None and transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            self._reader.pause()

    def _write_now(self, line: bytes) -> None:
        data = memoryview(line)
        with suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._fd, data) :]

    async def close(self, seconds: float) -> None:
        """Give the client a moment to take what is left."""
        if self._pipe is None:
            return
        transport, end = self._pipe
        transport.close()
        await asyncio.wait({end.lost}, timeout=seconds)
        self.abort()

    def abort(self) -> None:
        """Be done with the pipe at once, whatever the client has not taken."""
        if self._pipe is None:
            return
        transport, end = self._pipe
        # One that is closing and has nothing left to write is about to be lost anyway.
        if not end.lost.done() and (not transport.is_closing() or transport.get_write_buffer_size()):
            transport.abort()
