"""The time that a call has left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class CallClock:
    """Starts anew with each sign of life, and stands while somebody is asked a question for the call.

    In all it has no more than `longest`, the time in which it stands not counted.
    """

    def __init__(self, patience: asyncio.Timeout, seconds: float, longest: float) -> None:
        self._patience = patience
        self._seconds = seconds
        self._until = asyncio.get_running_loop().time() + max(longest, seconds)
        self._stands_since = 0.0
        self._open_questions = 0
        self._is_over = False

    def renew(self) -> None:
        """The server works on it: the whole time is left."""
        if not self._is_over and not self._patience.expired() and not self._open_questions:
            self._patience.reschedule(min(asyncio.get_running_loop().time() + self._seconds, self._until))

    @property
    def is_used_up(self) -> bool:
        """Whether all the time that a call may have in all is over."""
        return asyncio.get_running_loop().time() >= self._until

    @contextmanager
    def standing(self) -> Iterator[None]:
        """A person or a model thinks meanwhile, which is no fault of the server."""
        if not self._open_questions:
            self._stands_since = asyncio.get_running_loop().time()
        self._open_questions += 1
        if not self._is_over and not self._patience.expired():
            self._patience.reschedule(None)
        try:
            yield
        finally:
            self._open_questions -= 1
            if not self._open_questions:
                self._until += asyncio.get_running_loop().time() - self._stands_since
            self.renew()

    def end(self) -> None:
        """The call is over; questions that are still open end without it."""
        self._is_over = True
