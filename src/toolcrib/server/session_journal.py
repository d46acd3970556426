"""How far a stdio session got, written where it outlives us: another engine goes on from there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcrib.wire.jsonrpc import RequestId
from toolcrib.wire.lines import LineSplitter

# Fed instead of a line that has too many bytes. Not JSON, so it is answered with a parse error like any other broken line.
TOO_LONG = b"line too long"

# Beyond this the journal is written anew with only what still matters.
MOST_BYTES = 256 * 1024

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


class Journal:
    """What a session tells as it goes on. This one keeps nothing, for a session that ends with its process."""

    def received(self, data: bytes) -> None:
        """These bytes were taken from the client; nothing was done about them yet."""

    def settled(self, data: bytes) -> None:
        """Every whole line of what was last received is dealt with."""

    def fed(self) -> None:
        """One more line was answered, or needs no answer."""

    def started(self, id: RequestId) -> None:
        """One more line was a call, which runs now."""

    def ended(self, id: RequestId) -> None:
        """A call was answered, or cancelled."""

    def met(self, session: Mapping[str, Any]) -> None:
        """What is known of the client by now."""

    def torn(self, *, is_torn: bool) -> None:
        """Whether the client has only part of the last line that was written."""


@dataclass(slots=True)
class Progress:
    """Where a session stands."""

    session: dict[str, Any] = field(default_factory=dict)
    running: dict[RequestId, None] = field(default_factory=dict)
    unfed: bytes = b""
    is_torn: bool = False


class FileJournal(Journal):
    """Appends records to an open file: a letter, the length of what follows, and that."""

    def __init__(self, descriptor: int, progress: Progress) -> None:
        self._descriptor = descriptor
        self._session = progress.session
        self._running = dict(progress.running)
        self._is_torn = progress.is_torn
        self._is_handed_over = False
        self._size = 0
        self._write_anew(progress.unfed)

    def received(self, data: bytes) -> None:
        self._append(b"I", data)

    def fed(self) -> None:
        self._append(b"L")

    def settled(self, data: bytes) -> None:
        if self._size > MOST_BYTES and data.endswith(b"\n"):
            self._write_anew()

    def met(self, session: Mapping[str, Any]) -> None:
        self._session = dict(session)
        self._append(b"S", _encode(session))

    def started(self, id: RequestId) -> None:
        self._running[id] = None
        self._append(b"+", _encode(id))

    def ended(self, id: RequestId) -> None:
        if id in self._running and not self._is_handed_over:
            del self._running[id]
            self._append(b"-", _encode(id))

    def torn(self, *, is_torn: bool) -> None:
        self._is_torn = is_torn
        self._append(b"T" if is_torn else b"W")

    def hand_over(self) -> None:
        """Leave it to another engine to answer what still runs: it is cancelled here, and that is no end."""
        self._is_handed_over = True

    @property
    def session(self) -> Mapping[str, Any]:
        """What is known of the client."""
        return self._session

    def _write_anew(self, unfed: bytes = b"") -> None:
        records = [_record(b"S", _encode(self._session)), *(_record(b"R", _encode(id)) for id in self._running)]
        if self._is_torn:
            records.append(_record(b"T"))
        if unfed:
            records.append(_record(b"I", unfed))
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._size = os.write(self._descriptor, b"".join(records))

    def _append(self, letter: bytes, body: bytes = b"") -> None:
        self._size += os.write(self._descriptor, _record(letter, body))


def _record(letter: bytes, body: bytes = b"") -> bytes:
    return b"%b%d\n%b" % (letter, len(body), body)


def read_progress(descriptor: int, max_line_bytes: int) -> Progress:
    """What the journal of a former engine says; a last record that was cut off does not count."""
    progress, lines = Progress(), _ReceivedLines(max_line_bytes)
    for letter, body in _records(_content(descriptor)):
        match letter:
            case b"I":
                lines.receive(body)
            case b"L":
                lines.fed += 1
            case b"S":
                progress.session = _decode(body)
            case b"+":
                lines.fed += 1
                progress.running[_decode(body)] = None
            case b"R":
                progress.running[_decode(body)] = None
            case b"-":
                progress.running.pop(_decode(body), None)
            case b"T" | b"W":
                progress.is_torn = letter == b"T"
    progress.unfed = lines.unfed
    return progress


class _ReceivedLines:
    """The lines that a former engine received, cut as it cut them."""

    def __init__(self, max_line_bytes: int) -> None:
        self._splitter = LineSplitter(max_line_bytes)
        self._lines: list[bytes] = []
        self._rest = b""
        self.fed = 0

    def receive(self, data: bytes) -> None:
        dropped = self._splitter.dropped
        self._lines += self._splitter.feed(data)
        self._lines += [TOO_LONG] * (self._splitter.dropped > dropped)
        self._rest = data.rpartition(b"\n")[2] if b"\n" in data else self._rest + data

    @property
    def unfed(self) -> bytes:
        """What nothing was done about, and the beginning of a line whose end is still to come."""
        return b"".join(line + b"\n" for line in self._lines[self.fed :]) + self._rest


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0) if size else b""


def _records(data: bytes) -> list[tuple[bytes, bytes]]:
    records, position = [], 0
    while (end := data.find(b"\n", position)) > position:
        length = int(data[position + 1 : end])
        if end + 1 + length > len(data):
            break
        records.append((data[position : position + 1], data[end + 1 : end + 1 + length]))
        position = end + 1 + length
    return records
