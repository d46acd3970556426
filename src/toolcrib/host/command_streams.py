"""The streams of a command that runs in the engine: on the descriptors that its process handed over."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Protocol

from toolcrib.cli import exits


class Streams(Protocol):
    """Where a command reads and writes."""

    stdin: IO[str] | None
    stdout: IO[str]
    stderr: IO[str]


class OpenStreams:
    """Text streams on copies of descriptors; whoever writes may have to wait for the reader."""

    def __init__(self, stdin: IO[str], stdout: IO[str], stderr: IO[str]) -> None:
        self.stdin: IO[str] | None = stdin
        self.stdout: IO[str] = stdout
        self.stderr: IO[str] = stderr


@contextmanager
def open_streams(descriptors: Sequence[int]) -> Iterator[OpenStreams]:
    """Streams for as long as the block lasts."""
    reading, *writing = map(os.dup, descriptors)
    with ExitStack() as closing:
        stdin = closing.enter_context(open(reading, encoding="utf-8", errors="surrogateescape"))
        stdout, stderr = (closing.enter_context(_writing(one)) for one in writing)
        yield OpenStreams(stdin, stdout, stderr)


@contextmanager
def _writing(descriptor: int) -> Iterator[IO[str]]:
    with suppress(OSError), open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
        yield stream  # closing it fails where nobody reads any more


class _Captured(io.StringIO):
    """Text that is kept for a descriptor, and looks like a stream on it."""

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)


class KeptStreams:
    """Streams whose text is written at the end, so that no writer ever waits."""

    def __init__(self, descriptors: Sequence[int]) -> None:
        _, stdout, stderr = descriptors
        self._captured = _Captured(stderr), _Captured(stdout)
        self.stdin: IO[str] | None = None
        self.stderr: IO[str]
        self.stdout: IO[str]
        self.stderr, self.stdout = self._captured

    def written(self, code: int) -> int:
        """Write everything; the exit code, which is another one where nobody reads."""
        for stream in self._captured:
            data = memoryview(stream.getvalue().encode("utf-8", "backslashreplace"))
            try:
                while data:
                    data = data[os.write(stream.fileno(), data) :]
            except OSError:
                return exits.PIPE_CLOSED
        return code
