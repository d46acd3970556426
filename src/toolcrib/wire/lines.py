"""Bytes from a pipe, cut into lines."""

from __future__ import annotations

from collections.abc import Iterator


class LineSplitter:
    """Collects chunks and hands out whole lines; a line over the limit is dropped up to its end and counted.

    `max_bytes` may be changed at any time, also in the middle of a line.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.dropped = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines completed by `chunk`, without their line ends; blank lines are left out."""
        return [line for line in self.lines(chunk) if line]

    def lines(self, chunk: bytes) -> Iterator[bytes]:
        """The same one by one and with the blank ones: a chunk may hold a million. All are to be taken before those of the next."""
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            yield self._finish(chunk[begin:end])
            begin = end + 1
        self._keep(chunk[begin:])

    def _finish(self, piece: bytes) -> bytes:
        self._keep(piece)
        line = b"" if self._skipping else b"".join(self._parts)
        if line.endswith(b"\r"):
            line = line.rstrip(b"\r")
        self._parts.clear()
        self._size = 0
        self._skipping = False
        return line

    def _keep(self, piece: bytes) -> None:
        if self._skipping or not piece:
            return
        self._size += len(piece)
        if self._size > self.max_bytes:
            self._skipping = True
            self.dropped += 1
            self._parts.clear()
        else:
            self._parts.append(piece)
