"""Whose turn it is to be read: so many at a time, and nobody waits behind one that only waits itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from toolcrib.errors import ToolcribError


class Turns:
    """So many at a time, first come first served; one that somebody waits for goes at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free = most
        self._queue: dict[str, asyncio.Future[None]] = {}
        self._hurried: set[str] = set()

    async def take(self, name: str) -> None:
        if self._free > 0 or name in self._hurried:
            self._free -= 1
            return
        turn = self._queue[name] = asyncio.get_running_loop().create_future()
        try:
            await turn
        except asyncio.CancelledError:
            self._queue.pop(name, None)
            if not turn.cancelled():
                self.give_back(name)
            raise

    def hurry(self, name: str) -> None:
        """Do not let `name` wait, whatever the limit says."""
        self._hurried.add(name)
        self._call(name)

    def resize(self, most: int) -> None:
        """Let so many at a time from now on; those that have their turn keep it."""
        self._free += most - self._most
        self._most = most
        self._call_waiting()

    def give_back(self, name: str) -> None:
        self._hurried.discard(name)
        self._free += 1
        self._call_waiting()

    def _call_waiting(self) -> None:
        while self._free > 0 and self._queue:
            self._call(next(iter(self._queue)))

    def _call(self, name: str) -> None:
        turn = self._queue.pop(name, None)
        if turn is not None and not turn.cancelled():
            self._free -= 1
            turn.set_result(None)


class HeldTurn(AbstractAsyncContextManager[None]):
    """A server's turn, held from the first `take` to the end of an attempt, and taken again for the next attempt.

    A server that is to be tried again in half a minute must not keep others waiting meanwhile. `failed` hears of each
    attempt that failed, also where another one follows.
    """

    def __init__(self, turns: Turns, name: str, failed: Callable[[ToolcribError], None]) -> None:
        self._turns = turns
        self._name = name
        self._failed = failed
        self._is_held = False

    async def take(self) -> None:
        if not self._is_held:
            await self._turns.take(self._name)
            self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._turns.give_back(self._name)

    async def __aenter__(self) -> None:
        await self.take()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()
        if isinstance(error, ToolcribError):
            self._failed(error)
