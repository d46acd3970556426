"""What a client sends, in a file that outlives us until it is dealt with.

The system moves it there from the client's pipe in one step: an engine that is killed has not taken a byte that another one
would miss. From a socket it takes two steps, with a pipe between them that outlives us too.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress

from toolcrib.server.pipes import TOO_LONG
from toolcrib.server.session_journal import FileJournal
from toolcrib.wire.lines import LineSplitter
from toolcrib.wire.pipe_size import make_pipe_roomy

READ_BYTES = 1024 * 1024
# With so much behind us the file begins anew.
MOST_KEPT_BYTES = 1024 * 1024
_DO_NOT_WAIT = 2  # SPLICE_F_NONBLOCK, which Python names from 3.12 on


class KeptInput:
    """Feeds the lines of a client, but for those that were dealt with before, until the end of its input."""

    def __init__(
        self,
        descriptors: tuple[int, int, tuple[int, int]],
        journal: FileJournal,
        fed: int,
        feed: Callable[[bytes], None],
        max_line_bytes: Callable[[], int],
        when_fed: Callable[[], None],
    ) -> None:
        self._descriptor, self._file, self._between = descriptors
        self._journal = journal
        self._known = fed
        self._feed = feed
        self._max_line_bytes = max_line_bytes
        self._when_fed = when_fed
        self._splitter = LineSplitter(max_line_bytes())
        self._position = 0
        self._is_paused = self._is_reading = False
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._is_in_two_steps = sys.platform == "linux" and stat.S_ISSOCK(os.fstat(self._descriptor).st_mode)
        for descriptor in (self._descriptor, *self._between):
            os.set_blocking(descriptor, False)
            make_pipe_roomy(descriptor)

    async def run(self) -> None:
        self._position = os.fstat(self._file).st_size
        with suppress(BlockingIOError):
            self._move(self._between[0])
        self._take(os.pread(self._file, self._position, 0))
        self._follow()
        try:
            await self._ended
        finally:
            self._is_paused = True
            self._follow()

    def pause(self) -> None:
        self._is_paused = True
        self._follow()

    def resume(self) -> None:
        self._is_paused = False
        self._follow()

    def _follow(self) -> None:
        should_read = not self._is_paused and not self._ended.done()
        if should_read and not self._is_reading:
            self._loop.add_reader(self._descriptor, self._read)
        elif self._is_reading and not should_read:
            self._loop.remove_reader(self._descriptor)
        self._is_reading = should_read

    def _read(self) -> None:
        begin = self._position
        try:
            self._move_in()
        except BlockingIOError:
            return
        except OSError:  # the client went away in the middle of something
            self._end()
            return
        if self._position == begin:
            self._take(b"\n")  # the last line may lack its end
            self._end()
        else:
            self._take(os.pread(self._file, self._position - begin, begin))

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)
        self._follow()

    def _move_in(self) -> None:
        if not self._is_in_two_steps:
            self._move(self._descriptor)
        elif os.splice(self._descriptor, self._between[1], READ_BYTES, flags=_DO_NOT_WAIT):
            self._move(self._between[0])

    def _move(self, source: int) -> None:
        if sys.platform == "linux":
            self._position += os.splice(source, self._file, READ_BYTES, offset_dst=self._position, flags=_DO_NOT_WAIT)
        else:
            self._position += os.pwrite(self._file, os.read(source, READ_BYTES), self._position)

    def _take(self, data: bytes) -> None:
        """Feed the lines that these bytes complete; one after the other, so that another engine cuts them the same."""
        self._splitter.max_bytes = self._max_line_bytes()
        for piece in data.splitlines(keepends=True) if data.count(b"\n") > 1 else (data,):
            dropped = self._splitter.dropped
            lines = self._splitter.feed(piece)
            for line in (*lines, *([TOO_LONG] * (self._splitter.dropped > dropped))):
                self._deal_with(line)
        self._when_fed()
        if data.endswith(b"\n") and (self._position > MOST_KEPT_BYTES or self._journal.is_large):
            self._begin_anew()

    def _deal_with(self, line: bytes) -> None:
        if self._known:
            self._known -= 1
        else:
            self._feed(line)

    def _begin_anew(self) -> None:
        # In this order: killed between the two, an engine would miss a line rather than run a call twice.
        os.ftruncate(self._file, 0)
        self._position = 0
        self._journal.write_anew(0)
