"""Standard input and output as asyncio pipes, with a fallback for what can't be one (a file, Windows)."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from toolcrib.wire.jsonrpc import Json
from toolcrib.wire.lines import LineSplitter
from toolcrib.wire.pipe_size import make_roomy, size_reads

READ_BYTES = 256 * 1024


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
        self._splitter.max_bytes = self._max_line_bytes()
        dropped = self._splitter.dropped
        for line in self._splitter.feed(data):
            self._feed(line)
        if self._splitter.dropped > dropped:
            # Not JSON, so it is answered with a parse error like any other broken line.
            self._feed(b"line too long")

    def eof_received(self) -> None:
        self.data_received(b"\n")  # the last line may lack its end

    def connection_lost(self, _: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


async def read_lines(fd: int, feed: Callable[[bytes], None], max_line_bytes: Callable[[], int]) -> None:
    """Call `feed` with each line until the end of input; a line may have as many bytes as are allowed when it comes."""
    lines = _Lines(feed, max_line_bytes)
    if not _can_be_polled(fd):
        await _read_in_thread(fd, lines)
        return
    source = os.fdopen(os.dup(fd), "rb", buffering=0)
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: lines, source)
    except (ValueError, OSError, NotImplementedError):
        source.close()
        await _read_in_thread(fd, lines)
        return
    try:
        await lines.ended
    finally:
        transport.close()


async def _read_in_thread(fd: int, lines: _Lines) -> None:
    while chunk := await asyncio.to_thread(os.read, fd, READ_BYTES):
        lines.data_received(chunk)
    lines.eof_received()


def _can_be_polled(fd: int) -> bool:
    # asyncio takes every character device for a pipe, and learns too late that /dev/null is none.
    return os.isatty(fd) or not stat.S_ISCHR(os.fstat(fd).st_mode)


class _WriteEnd(asyncio.BaseProtocol):
    """Tells when a pipe we write to is done with."""

    def __init__(self) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)


class LineWriter:
    """Writes lines without waiting; what the client does not take in time stays in memory until `close`."""

    def __init__(self, fd: int, pipe: tuple[asyncio.WriteTransport, _WriteEnd] | None) -> None:
        self._fd = fd
        self._pipe = pipe

    @classmethod
    async def open(cls, fd: int) -> LineWriter:
        target = os.fdopen(os.dup(fd), "wb", buffering=0)
        try:
            pipe = await asyncio.get_running_loop().connect_write_pipe(_WriteEnd, target)
        except (ValueError, OSError, NotImplementedError):
            target.close()
            return cls(fd, None)
        make_roomy(pipe[0])
        return cls(fd, pipe)

    def write(self, *parts: Json) -> None:
        line = b"".join((*parts, b"\n"))
        if self._pipe is not None:
            self._pipe[0].write(line)
            return
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
        if not end.lost.done():
            transport.abort()
