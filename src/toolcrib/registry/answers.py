"""Answers a registry gave a short while ago, so that it is not asked the same again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A body and its tag; one that is no longer fresh can still be confirmed by its tag."""

    body: bytes
    etag: str
    is_fresh: bool


class Answers(Protocol):
    """Keeps answers by address; losing one is no error."""

    def get(self, url: str) -> KeptAnswer | None: ...

    def put(self, url: str, etag: str, body: bytes) -> None: ...
