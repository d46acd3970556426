"""One child process that speaks in lines: its start, its pipes, and the end of all it started."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from toolcrib.errors import ServerConnectionError
from toolcrib.upstream.hearing import Hearing
from toolcrib.upstream.program import find_program, start_failure
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.watchdog import Watchdog
from toolcrib.wire.jsonrpc import line_of
from toolcrib.wire.lines import LineSplitter
from toolcrib.wire.pipe_size import make_roomy, size_reads

if sys.platform == "win32":
    from toolcrib.upstream.windows_job import Family

    _OWN_GROUP: dict[str, Any] = {
        "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW,
    }
else:
    from toolcrib.upstream.watchdog_process import Family

    _OWN_GROUP: dict[str, Any] = {"start_new_session": True}

log = logging.getLogger(__name__)

STDIN, STDOUT, STDERR = 0, 1, 2

CLOSE_SECONDS = 1.0
TERMINATE_SECONDS = 1.5
KILL_SECONDS = 1.0
LAST_WORDS_SECONDS = 0.25
LONGEST_LAST_WORDS_SECONDS = 10.0
REASON_LINES = 3
REASON_CHARACTERS = 400


class Child(asyncio.SubprocessProtocol):
    """A running child; made by `spawn`.

    `on_exit` is called once, however it ends, and nothing is handed to `on_line` after it. From then on the whole
    process group is being ended, whether or not anyone calls `stop`.
    """

    pid: int
    _transport: asyncio.SubprocessTransport
    _stdin: asyncio.WriteTransport
    _stdout: asyncio.ReadTransport | None
    _family: Family
    _ending: asyncio.Task[None]

    def __init__(
        self,
        server: str,
        on_line: Callable[[bytes], None],
        on_exit: Callable[[str], None],
        stderr: StderrRing,
        watchdog: Watchdog,
        max_line_bytes: int,
    ) -> None:
        self._server = server
        self._on_line = on_line
        self._on_exit = on_exit
        self._stderr = stderr
        self._watchdog = watchdog
        self._lines = LineSplitter(max_line_bytes)
        self._hearing = Hearing(
            self._lines, self._hand_over, self._line_too_long, self._pause_reading, self._resume_reading
        )
        self._open_pipes = {STDIN, STDOUT, STDERR}
        self._reason: str | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._exited = asyncio.Event()
        self._over = asyncio.Event()
        self._disconnected = asyncio.Event()
        self._last_words: asyncio.TimerHandle | None = None
        self._give_up_at = 0.0
        self._said_more = False

    @classmethod
    async def spawn(
        cls,
        argv: Sequence[str],
        *,
        server: str,
        env: Mapping[str, str],
        cwd: str | None,
        on_line: Callable[[bytes], None],
        on_exit: Callable[[str], None],
        stderr: StderrRing,
        watchdog: Watchdog,
        max_line_bytes: int,
    ) -> Child:
        """Start `argv` with exactly `env`, without a shell; raises ServerConnectionError where it cannot start."""
        program = find_program(server, argv[0], env, cwd)
        watchdog.start()
        try:
            _, child = await asyncio.get_running_loop().subprocess_exec(
                lambda: cls(server, on_line, on_exit, stderr, watchdog, max_line_bytes),
                program,
                *argv[1:],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                close_fds=True,
                **_OWN_GROUP,
            )
        except (OSError, ValueError) as problem:
            raise start_failure(server, program, problem) from problem
        return child

    async def write(self, line: bytes) -> None:
        """Send one line; waits only while the child is far behind in reading. What raises was not sent."""
        while not self._writable.is_set():
            await self._writable.wait()
        if STDIN not in self._open_pipes:
            await self._over.wait()
        if self._reason is None:
            self._stdin.write(line_of(line))
            if not self._stdin.is_closing():
                return
            # The pipe broke before a byte of this line: the child is gone and we are about to hear of it.
            await self._over.wait()
        raise ServerConnectionError(self._reason or "the server is gone", server=self._server)

    def take_lines_of(self, max_bytes: int) -> None:
        """From now on a line may be so long."""
        self._lines.max_bytes = max_bytes

    async def stop(self) -> None:
        """Close its input, then SIGTERM, then SIGKILL to the whole group; returns within 5 s, and may be repeated."""
        self._finish("the server was stopped")
        await asyncio.shield(self._ending)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(STDIN))
        self._stdout = cast(asyncio.ReadTransport | None, self._transport.get_pipe_transport(STDOUT))
        make_roomy(self._stdin)
        make_roomy(self._stdout)
        self.pid = self._transport.get_pid()
        self._family = Family(self.pid)
        self._watchdog.watch(self.pid)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._disconnected.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == STDERR:
            self._stderr.feed(data)
            return
        self._said_more = True
        size_reads(self._stdout, len(data))
        self._hearing.take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        self._open_pipes.discard(fd)
        self._writable.set()
        if fd == STDERR:
            self._stderr.finish()
        if fd != STDERR or self._exited.is_set():
            self._soon_over()

    def process_exited(self) -> None:
        self._exited.set()
        if self._reason is None:
            self._family.look()
            self._family.is_alive()
            self._soon_over()

    def _line_too_long(self) -> None:
        self._finish(f"the server sent a line longer than {self._lines.max_bytes} bytes")

    def _pause_reading(self) -> None:
        if self._stdout is not None and not self._stdout.is_closing():
            self._stdout.pause_reading()

    def _resume_reading(self) -> None:
        if self._stdout is not None and not self._stdout.is_closing():
            self._stdout.resume_reading()

    def _hand_over(self, line: bytes) -> None:
        if self._reason is not None:
            return
        try:
            self._on_line(line)
        except Exception:
            log.exception("a message of %s could not be handled", self._server)

    def _soon_over(self) -> None:
        """Conclude when all was heard, or a moment later: a pipe closes just before the exit status is known."""
        if self._exited.is_set() and not self._open_pipes & {STDOUT, STDERR}:
            self._conclude()
        elif self._last_words is None:
            self._look_again_soon()

    def _conclude(self) -> None:
        """It is over once all that it said was heard, if that does not take too long."""
        now = asyncio.get_running_loop().time()
        self._give_up_at = self._give_up_at or now + LONGEST_LAST_WORDS_SECONDS
        if self._is_to_be_heard() and now < self._give_up_at:
            self._look_again_soon()
        else:
            self._finish(self._describe_end())

    def _is_to_be_heard(self) -> bool:
        # What comes while we look is not all: more may lie in the pipe.
        return self._hearing.is_behind or (self._said_more and STDOUT in self._open_pipes)

    def _look_again_soon(self) -> None:
        if self._last_words is not None:
            self._last_words.cancel()
        self._said_more = False
        self._last_words = asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self._conclude)

    def _describe_end(self) -> str:
        if self._exited.is_set():
            what = _describe_status(self._transport.get_returncode())
        elif STDOUT not in self._open_pipes:
            what = "closed its standard output"
        else:
            what = "closed its standard input"
        words = " | ".join(self._stderr.tail(REASON_LINES).split("\n"))[-REASON_CHARACTERS:]
        return f"the server {what}: {words}" if words else f"the server {what}"

    def _finish(self, reason: str) -> None:
        if self._reason is not None:
            return
        self._reason = reason
        self._ending = asyncio.ensure_future(self._end())
        self._over.set()
        self._writable.set()
        if self._last_words is not None:
            self._last_words.cancel()
        self._hearing.stop()
        self._on_exit(reason)

    async def _end(self) -> None:
        family = self._family
        try:
            family.look()
            self._stdin.close()
            await _within(CLOSE_SECONDS, self._exited)
            if family.is_alive():
                family.ask_to_end()
                await self._family_gone_within(TERMINATE_SECONDS)
        finally:
            # Also when this task is cancelled by a closing event loop.
            family.kill()
            self._watchdog.release(self.pid)
        await self._family_gone_within(KILL_SECONDS)
        await _within(KILL_SECONDS, self._exited)
        self._free_pipes()
        await _within(KILL_SECONDS, self._disconnected)

    def _free_pipes(self) -> None:
        if STDIN in self._open_pipes and self._stdin.get_write_buffer_size():
            # Closing waits for unsent bytes, which an escaped process holding the other end may never read. With none left it
            # is closed already, and asyncio would close it a second time.
            self._stdin.abort()
        self._transport.close()

    async def _family_gone_within(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        pause = 0.005
        while self._family.is_alive() and loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)


async def _within(seconds: float, event: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _describe_status(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
