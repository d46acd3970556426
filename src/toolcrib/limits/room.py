"""How many of something there may be at once, where several parts count together."""

from __future__ import annotations

from collections.abc import Callable


class Room:
    """Counts those that are there; `most` may change meanwhile, and sends nobody away."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._count = 0

    @property
    def is_left(self) -> bool:
        return self._count < self._most()

    def enter(self) -> None:
        self._count += 1

    def leave(self) -> None:
        self._count -= 1
