"""How far a stdio session got, written where it outlives us: another engine goes on from there.

What the client sent and what it is told are kept beside it (`kept_input`, `kept_output`); the journal says which lines were
dealt with, which calls run, and up to where the output may be sent. Records count once they are committed.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcrib.wire.jsonrpc import RequestId

# Beyond this the journal is written anew with only what still matters.
MOST_BYTES = 256 * 1024

ROOM_BYTES = 2 * MOST_BYTES
_COMMIT, _END = b".", b"\0"
_ONE_LINE = b"F1\n1"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


class Journal:
    """What a session tells as it goes on. This one keeps nothing, for a session that ends with its process."""

    def fed(self) -> None:
        """One more line was answered, or needs no answer."""

    def started(self, id: RequestId, method: str = "") -> None:
        """One more line was a call, or a request with this method, which runs now."""

    def ended(self, id: RequestId) -> None:
        """A call was answered by what was written last, or cancelled."""

    def told(self) -> None:
        """What was written last answers nothing."""

    def met(self, session: Mapping[str, Any]) -> None:
        """What is known of the client by now."""


@dataclass(slots=True)
class Progress:
    """Where a session stands."""

    session: dict[str, Any] = field(default_factory=dict)
    # What runs, each with its method; empty is a call.
    running: dict[RequestId, str] = field(default_factory=dict)
    # How many of the lines in the kept input were dealt with.
    fed: int = 0
    # The kept output up to here may be sent; what is behind it was never finished.
    output_end: int = 0
    # Where the ends of long lines are, whose beginnings only the engine had, and the calls that they answer.
    long_lines: list[tuple[int, int]] = field(default_factory=list)
    answered_at: dict[RequestId, int] = field(default_factory=dict)


class FileJournal(Journal):
    """Appends records to a file: a letter, the length of what follows, and that; a zero byte ends them.

    The file is memory that others see too, so that a record costs no call of the system.
    """

    def __init__(self, descriptor: int, progress: Progress) -> None:
        self._descriptor = descriptor
        self._memory = _mapped(descriptor, ROOM_BYTES)
        self._session = progress.session
        self._running = dict(progress.running)
        # Long lines that the client may not have yet, and the calls that they answer.
        self._long_lines: list[tuple[int, int]] = []
        self._answered_at: dict[RequestId, int] = {}
        self._long_end = 0
        self._records: list[bytes] = []
        self._output_end = progress.output_end
        self._is_handed_over = False
        self._size = 0
        # Called when something can be sent: whatever belongs to it was said.
        self.when_settled: Callable[[], None] = lambda: None
        self.write_anew(progress.fed)

    @property
    def session(self) -> Mapping[str, Any]:
        """What is known of the client."""
        return self._session

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    @property
    def is_large(self) -> bool:
        return self._size > MOST_BYTES

    def fed(self) -> None:
        self._records.append(_ONE_LINE)

    def met(self, session: Mapping[str, Any]) -> None:
        self._session = dict(session)
        self._add(b"S", _encode(session))

    def started(self, id: RequestId, method: str = "") -> None:
        self._running[id] = method
        self._add(b"+", _running_record(id, method))

    def ended(self, id: RequestId) -> None:
        if id in self._running and not self._is_handed_over:
            del self._running[id]
            self._add(b"-", _encode(id))
            if self._long_end:
                self._answered_at[id] = self._long_end
                self._add(b"A", _encode((id, self._long_end)))
        self.when_settled()

    def told(self) -> None:
        self.when_settled()

    def wrote(self, *, long_line: tuple[int, int] | None = None) -> None:
        """A line was put into the output; of a long one only the end, which is here."""
        self._long_end = long_line[1] if long_line else 0
        if long_line:
            self._long_lines.append(long_line)
            self._add(b"T", _encode(long_line))

    def delivered(self) -> None:
        """The client has all of the output, which begins anew."""
        self._long_lines.clear()
        self._answered_at.clear()
        self._output_end = 0
        self._add(b"Z")
        self.commit(0)

    def commit(self, output_end: int) -> None:
        """Write down what happened, before the client or a server can learn of it."""
        if self._records or output_end != self._output_end:
            self._output_end = output_end
            self._add(_COMMIT, b"%d" % output_end)
            self._store(b"".join(self._records))
            self._records.clear()

    def hand_over(self) -> None:
        """Leave it to another engine to answer what still runs: it is cancelled here, and that is no end."""
        self._is_handed_over = True

    def write_anew(self, fed: int) -> None:
        """Keep only what matters from now on; everything is committed, and so many lines of the kept input are fed."""
        self._records = [
            _record(b"S", _encode(self._session)),
            *(_record(b"R", _running_record(id, method)) for id, method in self._running.items()),
            _record(b"F", b"%d" % fed),
            *(_record(b"T", _encode(line)) for line in self._long_lines),
            *(_record(b"A", _encode(answer)) for answer in self._answered_at.items()),
        ]
        self._size = 0
        self.commit(self._output_end)

    def close(self) -> None:
        """Write nothing more."""
        self._memory.close()

    def _store(self, records: bytes) -> None:
        end = self._size + len(records)
        if end >= len(self._memory):
            self._memory.close()
            self._memory = _mapped(self._descriptor, 2 * end)
        self._memory[self._size : end + 1] = records + _END
        self._size = end

    def _add(self, letter: bytes, body: bytes = b"") -> None:
        self._records.append(_record(letter, body))


def _mapped(descriptor: int, size: int) -> mmap.mmap:
    if os.fstat(descriptor).st_size < size:
        os.ftruncate(descriptor, size)
    return mmap.mmap(descriptor, os.fstat(descriptor).st_size)


def _record(letter: bytes, body: bytes = b"") -> bytes:
    return b"%b%d\n%b" % (letter, len(body), body)


def _running_record(id: RequestId, method: str) -> bytes:
    return _encode((id, method)) if method else _encode(id)


def _read_running(body: bytes) -> tuple[RequestId, str]:
    known = _decode(body)
    return (known[0], known[1]) if isinstance(known, list) else (known, "")


def read_progress(descriptor: int) -> Progress:
    """What the journal of a former engine says; records that were not committed do not count."""
    progress = Progress()
    size = os.fstat(descriptor).st_size
    for committed in _committed(os.pread(descriptor, size, 0)):
        for letter, body in committed:
            _apply(progress, letter, body)
        progress.output_end = int(committed[-1][1])
    return progress


def _apply(progress: Progress, letter: bytes, body: bytes) -> None:
    match letter:
        case b"F":
            progress.fed += int(body)
        case b"S":
            progress.session = _decode(body)
        case b"+":
            progress.fed += 1
            progress.running.update([_read_running(body)])
        case b"R":
            progress.running.update([_read_running(body)])
        case b"-":
            progress.running.pop(_decode(body), None)
        case b"A":
            id, end = _decode(body)
            progress.answered_at[id] = end
        case b"T":
            progress.long_lines.append(_decode(body, type=tuple[int, int]))
        case b"Z":
            progress.long_lines.clear()
            progress.answered_at.clear()


def _committed(data: bytes) -> Iterator[list[tuple[bytes, bytes]]]:
    records, position = [], 0
    while data[position : position + 1] != _END and (end := data.find(b"\n", position)) > position:
        begin, length = end + 1, int(data[position + 1 : end])
        if begin + length > len(data):
            return
        records.append((data[position : position + 1], data[begin : begin + length]))
        if records[-1][0] == _COMMIT:
            yield records
            records = []
        position = begin + length
