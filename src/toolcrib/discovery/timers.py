"""Things to do a little later, at most one for each server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Timers:
    """Calls `act` with the name of a server once its time is over."""

    def __init__(self, act: Callable[[str], object]) -> None:
        self._act = act
        self._handles: dict[str, asyncio.TimerHandle] = {}

    def __contains__(self, server: str) -> bool:
        return server in self._handles

    def start(self, server: str, seconds: float) -> None:
        """Act in so many seconds; a timer that runs for this server is replaced."""
        self.cancel(server)
        self._handles[server] = asyncio.get_running_loop().call_later(seconds, self._over, server)

    def cancel(self, server: str) -> None:
        handle = self._handles.pop(server, None)
        if handle is not None:
            handle.cancel()

    def close(self) -> None:
        for server in list(self._handles):
            self.cancel(server)

    def _over(self, server: str) -> None:
        del self._handles[server]
        self._act(server)
