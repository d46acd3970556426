"""Getting a lost endpoint back in the background, so that the next call need not wait for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from toolcrib.errors import CallTimeout, ServerConnectionError, ToolcribError

log = logging.getLogger(__name__)

# Seconds before each try. After the last one the endpoint is left alone until somebody calls it.
WAITS = (1.0, 2.0, 3.0, 4.0, 5.0)
# While somebody listens to what changes there, nobody may call for hours: it is looked for so often then.
LISTENING_WAIT_SECONDS = 60.0


class Reconnecting:
    """At most one round of tries at a time; `stop` ends it at once.

    `connect` says whether it worked, `is_wanted` whether anybody still has a use for the endpoint, and `is_listened_to`
    whether somebody waits to hear from it.
    """

    def __init__(
        self,
        server: str,
        connect: Callable[[], Awaitable[bool]],
        is_wanted: Callable[[], bool],
        is_listened_to: Callable[[], bool],
    ) -> None:
        self._server = server
        self._connect = connect
        self._is_wanted = is_wanted
        self._is_listened_to = is_listened_to
        self._waits = iter(WAITS)
        self._running: asyncio.Task[None] | None = None

    @property
    def log_level(self) -> int:
        """The failures of a round were told once, when it began."""
        return logging.DEBUG if self._is_running else logging.WARNING

    @property
    def _is_running(self) -> bool:
        return self._running is not None and not self._running.done()

    def start(self) -> None:
        """Go on where the last round ended: an endpoint that is lost again and again is not tried for ever."""
        if not self._is_running:
            self._running = asyncio.create_task(self._run(), name=f"reconnect {self._server}")

    def forget(self) -> None:
        """The next round starts from the first wait: the endpoint worked, or somebody has asked for it again."""
        self._waits = iter(WAITS)

    async def stop(self) -> None:
        running, self._running = self._running, None
        self.forget()
        if running is not None and not running.done():
            running.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({running})

    async def _run(self) -> None:
        for seconds in self._all_waits():
            await asyncio.sleep(seconds)
            if not self._is_wanted():
                return
            if await self._connect():
                log.info("%s: connected again", self._server)
                return

    def _all_waits(self) -> Iterator[float]:
        yield from self._waits
        log.info("%s: not reached in %d tries; the next call tries again", self._server, len(WAITS))
        while self._is_listened_to():
            yield LISTENING_WAIT_SECONDS


def may_come_back(error: ToolcribError) -> bool:
    """Whether it is worth trying again soon: nobody was there, or it could not answer now; a refusal will stay one."""
    if isinstance(error, CallTimeout):
        return True
    status = error.details.get("status", 0)
    return isinstance(error, ServerConnectionError) and (not status or status >= 500)
