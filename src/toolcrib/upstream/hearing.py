"""Lines that a server process says, handed over as they come; one that says much is heard in turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from toolcrib.wire.lines import LineSplitter

# How long one server is heard at a stretch, and how long the others then have.
TURN_SECONDS = 0.01
REST_SECONDS = 0.03


class Hearing:
    """Hands each line to `on_line`. A server that keeps us busy is not read between its turns, so that others are heard too.

    `pause` and `resume` stop and continue the reading. `on_too_long` is called where a line is longer than it may be.
    """

    def __init__(
        self,
        lines: LineSplitter,
        on_line: Callable[[bytes], None],
        on_too_long: Callable[[], None],
        pause: Callable[[], None],
        resume: Callable[[], None],
    ) -> None:
        self._lines = lines
        self._on_line = on_line
        self._on_too_long = on_too_long
        self._pause = pause
        self._resume = resume
        self._unheard: list[Iterator[bytes]] = []
        self._rest: asyncio.TimerHandle | None = None

    def take(self, chunk: bytes) -> None:
        """The next bytes that were read."""
        self._unheard.append(self._lines.lines(chunk))
        if self._rest is None:
            self._hear()

    @property
    def is_behind(self) -> bool:
        """Whether there is something that was read and not heard yet."""
        return self._rest is not None

    def stop(self) -> None:
        """Nobody listens any more."""
        self._unheard.clear()
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _hear(self) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + TURN_SECONDS
        while self._unheard:
            for line in self._unheard[0]:
                if line:
                    self._on_line(line)
                if loop.time() > until:
                    self._rest_a_while(is_first=self._rest is None)
                    return
            self._unheard = self._unheard[1:]  # not `del`: a line may have ended all of this
        if self._rest is not None:
            self._rest = None
            self._resume()
        if self._lines.dropped:
            self._on_too_long()

    def _rest_a_while(self, *, is_first: bool) -> None:
        if is_first:
            self._pause()
        self._rest = asyncio.get_running_loop().call_later(REST_SECONDS, self._hear)
