"""What a client is told, in a file that outlives us until the client has it.

The system moves it from the file to the client's pipe and counts in the same step (the position of the file), so that an
engine that goes on after another one was killed neither repeats nor leaves out a byte.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable

from toolcrib.server.session_journal import FileJournal, Progress
from toolcrib.wire.jsonrpc import Json, line_of
from toolcrib.wire.pipe_size import make_pipe_roomy

# Of a longer line only the end is kept: copying all of it would cost as much as sending it. Where its beginning is lost
# with an engine, the outcome of its call is told to be unknown.
LONG_BYTES = 64 * 1024
KEPT_BYTES = 1024
# A client that leaves so much unread is not listened to until it has read it.
MOST_UNREAD_BYTES = 64 * 1024 * 1024
# With so much behind us the file begins anew.
MOST_SENT_BYTES = 256 * 1024


def settle_output(file: int, progress: Progress) -> None:
    """Make the output of a former engine ready to be sent on, and let `progress` know what that means for its calls."""
    position = os.lseek(file, 0, os.SEEK_CUR)
    end = min(os.fstat(file).st_size, max(progress.output_end, position))
    os.ftruncate(file, end)
    for begin, stop in progress.long_lines:
        if position <= begin:  # perhaps the client has part of it: the line ends here, and says nothing
            os.pwrite(file, b" " * (stop - begin - 1) + b"\n", begin)
    progress.running.update({id: "" for id, stop in progress.answered_at.items() if position < stop})
    progress.long_lines, progress.answered_at = [], {}
    if position >= end:
        os.ftruncate(file, 0)
        end = os.lseek(file, 0, os.SEEK_SET)
    progress.output_end = end


class KeptOutput:
    """Lines for a client; whoever writes one does not wait until the client takes it."""

    def __init__(self, descriptor: int, file: int, journal: FileJournal) -> None:
        self._descriptor = descriptor
        self._file = file
        self._journal = journal
        self._position, self._end = os.lseek(file, 0, os.SEEK_CUR), os.fstat(file).st_size
        # The beginnings of long lines, and before which byte of the file each belongs.
        self._beginnings: deque[tuple[int, memoryview]] = deque()
        self._unread_beginnings = 0
        self._is_due = self._is_waiting = self._is_full = self._is_lost = self._is_closed = False
        self._empty = asyncio.Event()
        self._empty.set()
        self._loop = asyncio.get_running_loop()
        self.on_full: Callable[[], None] = lambda: None
        self.on_empty: Callable[[], None] = lambda: None
        os.set_blocking(descriptor, False)
        make_pipe_roomy(descriptor)
        journal.when_settled = self._settled

    def write(self, *parts: Json) -> None:
        """Put a line where it is safe; it is sent as soon as the journal knows what it settles."""
        if self._is_lost:
            return
        line = line_of(*parts)
        begin, long_line = self._end, None
        if len(line) > LONG_BYTES:
            self._beginnings.append((begin, memoryview(line)[:-KEPT_BYTES]))
            self._unread_beginnings += len(line) - KEPT_BYTES
            line = line[-KEPT_BYTES:]
            long_line = (begin, begin + KEPT_BYTES)
        self._end += os.pwrite(self._file, line, begin)
        self._journal.wrote(long_line=long_line)
        if self._end - self._position + self._unread_beginnings > MOST_UNREAD_BYTES:
            self._is_full = True
            self.on_full()

    def flush(self) -> None:
        """Write down what happened, then send what the client takes now."""
        self._is_due = False
        if self._is_closed:
            return
        self._journal.commit(self._end)
        if self._is_waiting or self._is_lost or self._position == self._end:
            return
        try:
            while self._position < self._end:
                self._send()
        except BlockingIOError:
            self._wait()
        except OSError:  # the client has closed its end
            self._lose()
        else:
            self._rest()

    async def close(self, seconds: float) -> None:
        """Give the client a moment to take what is left."""
        self.flush()
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            pass
        finally:
            self.abort()

    def abort(self) -> None:
        """Send nothing more."""
        if not self._is_closed:
            self._stop_waiting()
            self._journal.close()
        self._is_closed = self._is_lost = True

    def _settled(self) -> None:
        """Send at once, unless other calls run: their answers may be ready too, and then go out together."""
        if not self._journal.is_busy:
            self.flush()
        elif not self._is_due:
            self._is_due = True
            self._loop.call_soon(self.flush)

    def _send(self) -> None:
        at, beginning = self._beginnings[0] if self._beginnings else (self._end, None)
        if self._position < at:
            self._position += _moved(self._file, self._descriptor, self._position, at - self._position)
        elif beginning is not None:
            sent = os.write(self._descriptor, beginning)
            self._unread_beginnings -= sent
            self._beginnings[0] = (at, beginning[sent:])
            if sent == len(beginning):
                self._beginnings.popleft()

    def _rest(self) -> None:
        """Everything is sent."""
        if self._end > MOST_SENT_BYTES:
            self._journal.delivered()
            os.ftruncate(self._file, 0)
            self._position = self._end = os.lseek(self._file, 0, os.SEEK_SET)
        self._empty.set()
        if self._is_full:
            self._is_full = False
            self.on_empty()

    def _wait(self) -> None:
        self._is_waiting = True
        self._empty.clear()
        self._loop.add_writer(self._descriptor, self._go_on)

    def _go_on(self) -> None:
        self._stop_waiting()
        self.flush()

    def _stop_waiting(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._descriptor)

    def _lose(self) -> None:
        self._is_lost = True
        self._beginnings.clear()
        self._unread_beginnings = 0
        self._rest()


def _moved(file: int, descriptor: int, position: int, count: int) -> int:
    if sys.platform == "linux":
        sent = os.sendfile(descriptor, file, None, count)
    else:
        sent = os.write(descriptor, os.pread(file, count, position))
        os.lseek(file, position + sent, os.SEEK_SET)
    return sent
