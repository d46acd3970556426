"""Keeps results that are too large to hand over at once."""

from __future__ import annotations

from typing import Protocol


class ResultStore(Protocol):
    """Keeps large results for a while, each for the caller it was made for."""

    def put(self, caller_key: str, data: bytes) -> str:
        """Keep `data` and return its handle; `StoreUnavailable` where it cannot be kept."""

    def get(self, caller_key: str, handle: str) -> bytes:
        """The data; `ResultExpired` for an unknown, expired or malformed handle and for another caller's alike."""
