"""Events of streams, kept within so many bytes and for so long."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

# What an event takes besides its text.
_EVENT_BYTES = 256


class Stream:
    """The events of one stream by their numbers; those that were let go are missing at the front."""

    def __init__(self, name: str, *, has_answer: bool = True) -> None:
        self.name = name
        # Whether it ends with an answer; the stream that belongs to no request goes on for ever.
        self.has_answer = has_answer
        self.key = secrets.token_hex(16)
        self.bytes = 0
        self.is_answered = False
        self.is_gone = False
        # Set with the next change.
        self.changed = asyncio.Event()
        self.next = 0
        self._events: deque[tuple[float, bytes]] = deque()

    @property
    def first(self) -> int:
        return self.next - len(self._events)

    def since(self, number: int) -> Iterator[tuple[int, bytes]]:
        """What is kept from this number on, numbered."""
        for one in range(max(number, self.first), self.next):
            yield one, self._events[one - self.first][1]

    def add(self, now: float, text: bytes, *, is_answer: bool) -> None:
        self._events.append((now, text))
        self.next += 1
        self.bytes += len(text) + _EVENT_BYTES
        self.is_answered = is_answer
        self._tell()

    def forget_before(self, oldest: float) -> None:
        while self._events and self._events[0][0] < oldest:
            self.bytes -= len(self._events.popleft()[1]) + _EVENT_BYTES

    def let_go(self) -> None:
        self.is_gone = True
        self._events.clear()
        self._tell()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class KeptEvents:
    """The streams of all sessions. Where room is needed the oldest go first, and those that have their answer before others.

    A stream is kept until its answer, and for some time after that.
    """

    def __init__(
        self, max_bytes: Callable[[], int], seconds: Callable[[], float], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._now = now
        # By the time of their last events, the oldest first.
        self._open: OrderedDict[Stream, float] = OrderedDict()
        self._answered: OrderedDict[Stream, float] = OrderedDict()
        self._bytes = 0

    def add(self, stream: Stream, text: bytes, *, is_answer: bool) -> None:
        """Keep one more event of a stream, as far as there is room."""
        now, before = self._now(), stream.bytes
        oldest = now - self._seconds()
        if not stream.has_answer:
            stream.forget_before(oldest)
        stream.add(now, text, is_answer=is_answer)
        self._bytes += stream.bytes - before
        self._open.pop(stream, None)
        (self._answered if is_answer else self._open)[stream] = now
        self._make_room(stream, oldest)

    def _make_room(self, newest: Stream, oldest: float) -> None:
        while self._answered and next(iter(self._answered.values())) < oldest:
            self._let_go(next(iter(self._answered)))
        most = self._max_bytes()
        if newest.bytes > most:
            self._let_go(newest)  # nobody else has to go for one that does not fit at all
        while self._bytes > most:
            self._let_go(next(iter(self._answered or self._open)))

    def _let_go(self, stream: Stream) -> None:
        self._open.pop(stream, None)
        self._answered.pop(stream, None)
        self._bytes -= stream.bytes
        stream.let_go()
