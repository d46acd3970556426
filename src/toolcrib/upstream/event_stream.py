"""The messages in an HTTP body, be it one JSON text or a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

from toolcrib.upstream.hearing import REST_SECONDS, TURN_SECONDS

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = _BYTE_ORDER_MARK + b" \t\r\n"
_PIECE_BYTES = 16 * 1024


class EventTooLarge(Exception):
    """One message is larger than the limit."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` is the last the stream gave; `data` is empty where only the id or the retry time matters."""

    data: bytes
    name: str = "message"
    id: str = ""
    retry_seconds: float | None = None


class EventDecoder:
    """Cuts bytes into events, whatever the line ends and however the bytes are split."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._name = ""
        self._retry_seconds: float | None = None
        self._id = ""
        self._settled_id = ""
        self._has_fields = False
        self._at_start = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events completed by `chunk`; raises EventTooLarge."""
        *ends, rest = self._normalized(chunk).split(b"\n")
        for end in ends:
            self._keep(end)
            event = self._take(self._end_line())
            if event is not None:
                yield event
        self._keep(rest)

    def finish(self) -> Iterator[Event]:
        """The event a server left without its closing blank line; its id does not count, it may be cut short."""
        known_id = self._settled_id
        event = self._take(self._end_line()) or self._dispatch()
        if event is not None and event.data:
            yield Event(event.data, event.name, known_id, event.retry_seconds)

    def _normalized(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _keep(self, piece: bytes) -> None:
        self._line_bytes += len(piece)
        if self._line_bytes + self._data_bytes > self._max_bytes:
            raise EventTooLarge
        self._line.append(piece)

    def _end_line(self) -> bytes:
        line = b"".join(self._line)
        self._line.clear()
        self._line_bytes = 0
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        return line

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"id":
            self._id = _usable_id(value)
        elif field == b"retry" and value.isdigit():
            self._retry_seconds = int(value[:9]) / 1000
        else:
            return None
        self._has_fields = True
        return None

    def _dispatch(self) -> Event | None:
        if not self._has_fields:
            return None
        event = Event(b"\n".join(self._data), self._name or "message", self._id, self._retry_seconds)
        self._settled_id = self._id
        self._data.clear()
        self._data_bytes = 0
        self._name = ""
        self._retry_seconds = None
        self._has_fields = False
        return event


def _usable_id(value: bytes) -> str:
    # An id that cannot travel back in a header cannot be resumed from.
    text = value.decode("latin-1")
    return text if text.isascii() and text.isprintable() else ""


class _Turn:
    """How long a server is heard at a stretch: a chunk may hold a million events or blank lines, and everybody else waits."""

    def __init__(self) -> None:
        self._now = asyncio.get_running_loop().time
        self.begin()

    def begin(self) -> None:
        self._until = self._now() + TURN_SECONDS

    async def is_over(self) -> None:
        """Let the others have theirs, where this one took long enough."""
        if self._now() > self._until:
            await asyncio.sleep(REST_SECONDS)
            self.begin()


async def read_events(chunks: AsyncIterator[bytes], max_bytes: int) -> AsyncGenerator[Event, None]:
    """The events of a body; a body that is JSON is one event."""
    # Servers mislabel both, so the first character decides, not the content type.
    head = b""
    async for chunk in chunks:
        head += chunk
        if head.lstrip(_BLANK):
            break
        if len(head) > max_bytes:
            raise EventTooLarge
    if head.lstrip(_BLANK).startswith((b"{", b"[")):
        yield Event(await _whole(head, chunks, max_bytes))
        return
    decoder, turn = EventDecoder(max_bytes), _Turn()
    async with aclosing(_pieces(head, chunks, turn)) as pieces:
        async for piece in pieces:
            for event in decoder.feed(piece):
                yield event
                await turn.is_over()
    for event in decoder.finish():
        yield event


async def _pieces(head: bytes, chunks: AsyncIterator[bytes], turn: _Turn) -> AsyncGenerator[bytes, None]:
    """The bytes of a body, never many at once, with rests in between where they take long."""
    for piece in _cut(head):
        yield piece
        await turn.is_over()
    async for chunk in chunks:
        turn.begin()
        for piece in _cut(chunk):
            yield piece
            await turn.is_over()


def _cut(chunk: bytes) -> Iterator[bytes]:
    return (chunk[at : at + _PIECE_BYTES] for at in range(0, len(chunk), _PIECE_BYTES))


async def _whole(head: bytes, chunks: AsyncIterator[bytes], max_bytes: int) -> bytes:
    parts, size = [head.lstrip(_BLANK)], len(head)
    async for chunk in chunks:
        size += len(chunk)
        if size > max_bytes:
            raise EventTooLarge
        parts.append(chunk)
    if size > max_bytes:
        raise EventTooLarge
    return b"".join(parts)
