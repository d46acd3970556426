"""Answers kept for a time, in memory and in files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from toolcrib.model.nesting import deeper_than

_MOST_IN_MEMORY = 1_000
_MOST_NESTING = 80


class CacheFiles(Protocol):
    """Small files by key. Nothing here raises: what cannot be read is not there, what cannot be written is lost."""

    def read(self, key: str) -> bytes | None: ...

    def write(self, key: str, data: bytes) -> None: ...

    def delete(self, key: str) -> None: ...

    def clear(self) -> None: ...


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file: whose answer it is, when it was given, and what it was."""

    cached_at: float
    server: str = ""
    launch: str = ""
    query: str = ""
    tools: list[dict[str, Any]] | None = None
    servers: list[dict[str, Any]] | None = None


_decode = msgspec.json.Decoder(Answer).decode


class KeptAnswers:
    """Answers by key; safe to use from several threads."""

    def __init__(self, files: CacheFiles | None, now: Callable[[], float]) -> None:
        self._files = files
        self._now = now
        self._lock = threading.Lock()
        self._memory: dict[str, Answer] = {}

    def get(self, key: str, ttl_seconds: float) -> Answer | None:
        """What is kept under a key, if it is not older than this; what is older goes."""
        if ttl_seconds <= 0:
            return None
        answer = self.peek(key)
        if answer is None or 0 <= self._now() - answer.cached_at <= ttl_seconds:
            return answer
        self.drop(key)
        return None

    def peek(self, key: str) -> Answer | None:
        """What is kept under a key, however old it is."""
        with self._lock:
            answer = self._memory.get(key)
        return self._from_file(key) if answer is None else answer

    def remember(self, key: str, answer: Answer) -> None:
        """Have an answer that was read from its file at hand the next time."""
        with self._lock:
            self._memory[key] = answer
            if len(self._memory) > _MOST_IN_MEMORY:
                del self._memory[next(iter(self._memory))]

    def put(self, key: str, answer: Answer) -> None:
        try:
            data = msgspec.json.encode(answer)
        except UnicodeEncodeError:
            return  # half a surrogate pair: read the server again next time rather than change what it said
        self.remember(key, answer)
        if self._files is not None:
            self._files.write(key, data)

    def drop(self, key: str) -> None:
        with self._lock:
            self._memory.pop(key, None)
        if self._files is not None:
            self._files.delete(key)

    def clear(self) -> None:
        with self._lock:
            self._memory.clear()
        if self._files is not None:
            self._files.clear()

    def _from_file(self, key: str) -> Answer | None:
        data = self._files.read(key) if self._files is not None else None
        try:
            return None if data is None else _usable(_decode(data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None


def _usable(answer: Answer) -> Answer | None:
    """The answer, unless somebody wrote into its file what we would not have taken from a server."""
    items = [*(answer.tools or ()), *(answer.servers or ())]
    return None if deeper_than(items, _MOST_NESTING) else answer
