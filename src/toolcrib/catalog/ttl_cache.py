"""Values kept for a time, or until someone says they are no longer true."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TtlCache(Generic[K, V]):
    """Holds each value for `ttl_seconds` (None: until invalidated; 0: not at all)."""

    def __init__(self, ttl_seconds: float | None, now: Callable[[], float]) -> None:
        self.ttl_seconds = ttl_seconds
        self._now = now
        self._entries: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        """The value, or None where there is none or it is too old; an expired value is removed."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        kept_at, value = entry
        if self.ttl_seconds is not None and self._now() - kept_at >= self.ttl_seconds:
            del self._entries[key]
            return None
        return value

    def put(self, key: K, value: V) -> None:
        self._entries[key] = (self._now(), value)

    def invalidate(self, key: K | None = None) -> None:
        """Drop one value, or all of them."""
        if key is None:
            self._entries.clear()
        else:
            self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)
