"""What servers and registries said a while ago, in memory and in files. Only a cache: the catalog is the truth."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from toolcrib.discovery.cache_key import registry_key, tools_key
from toolcrib.model.nesting import deeper_than

DAY_SECONDS = 86_400.0
HOUR_SECONDS = 3_600.0
_MOST_IN_MEMORY = 1_000
_MOST_NESTING = 80

Item = Mapping[str, Any]


class CacheFiles(Protocol):
    """Small files by key. Nothing here raises: what cannot be read is not there, what cannot be written is lost."""

    def read(self, key: str) -> bytes | None: ...

    def write(self, key: str, data: bytes) -> None: ...

    def delete(self, key: str) -> None: ...

    def clear(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CacheStats:
    """How often the cache could answer."""

    hits: int = 0
    misses: int = 0


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file: whose answer it is, when it was given, and what it was."""

    cached_at: float
    server: str = ""
    launch: str = ""
    query: str = ""
    tools: list[dict[str, Any]] | None = None
    servers: list[dict[str, Any]] | None = None


_decode = msgspec.json.Decoder(_Entry).decode


class MCPCache:
    """Answers kept for a time; safe to use from several threads. A time of 0 serves nothing."""

    def __init__(
        self,
        files: CacheFiles | None,
        *,
        now: Callable[[], float],
        tool_ttl_seconds: float = DAY_SECONDS,
        registry_ttl_seconds: float = HOUR_SECONDS,
    ) -> None:
        self._files = files
        self._now = now
        self.tool_ttl_seconds = tool_ttl_seconds
        self.registry_ttl_seconds = registry_ttl_seconds
        self._lock = threading.Lock()
        self._memory: dict[str, _Entry] = {}
        self._hits = 0
        self._misses = 0

    def configure(self, *, tool_ttl_seconds: float, registry_ttl_seconds: float) -> None:
        """Let other times hold, for answers that are kept already too."""
        self.tool_ttl_seconds = tool_ttl_seconds
        self.registry_ttl_seconds = registry_ttl_seconds

    @property
    def stats(self) -> CacheStats:
        with self._lock:
            return CacheStats(self._hits, self._misses)

    def get_tools(self, server: str, launch: str | None = None) -> list[Item] | None:
        """What was stored for this server; with `launch`, only if it was started or reached in the same way then."""

        def belongs(entry: _Entry) -> bool:
            return entry.server == server and launch in {None, entry.launch}

        entry = self._get(tools_key(server), self.tool_ttl_seconds, belongs)
        return None if entry is None or entry.tools is None else [*entry.tools]

    def store_tools(self, server: str, tools: Sequence[Item], launch: str = "") -> None:
        """Keep what a server said; `launch` is a fingerprint, since an address may hold a secret."""
        if self.tool_ttl_seconds > 0:
            kept = [dict(tool) for tool in tools]
            self._put(tools_key(server), _Entry(self._now(), server=server, launch=launch, tools=kept))

    def get_registry(self, query: str) -> list[Item] | None:
        """What the registry said to this query."""
        entry = self._get(registry_key(query), self.registry_ttl_seconds, lambda entry: entry.query == query)
        return None if entry is None or entry.servers is None else [*entry.servers]

    def store_registry(self, query: str, servers: Sequence[Item]) -> None:
        if self.registry_ttl_seconds > 0:
            kept = [dict(server) for server in servers]
            self._put(registry_key(query), _Entry(self._now(), query=query, servers=kept))

    def clear(self) -> None:
        """Forget everything, in memory and on disk."""
        with self._lock:
            self._memory.clear()
        if self._files is not None:
            self._files.clear()

    def clear_server(self, server: str) -> None:
        """Forget the tools of one server."""
        self._drop(tools_key(server))

    def _get(self, key: str, ttl_seconds: float, belongs: Callable[[_Entry], bool]) -> _Entry | None:
        entry = self._fresh(key, ttl_seconds)
        found = entry if entry is not None and belongs(entry) else None
        with self._lock:
            if found is None:
                self._misses += 1
            else:
                self._hits += 1
                self._remember(key, found)
        return found

    def _fresh(self, key: str, ttl_seconds: float) -> _Entry | None:
        if ttl_seconds <= 0:
            return None
        with self._lock:
            entry = self._memory.get(key)
        if entry is None:
            entry = self._from_file(key)
        if entry is None or 0 <= self._now() - entry.cached_at <= ttl_seconds:
            return entry
        self._drop(key)
        return None

    def _from_file(self, key: str) -> _Entry | None:
        data = self._files.read(key) if self._files is not None else None
        try:
            return None if data is None else _usable(_decode(data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _put(self, key: str, entry: _Entry) -> None:
        try:
            data = msgspec.json.encode(entry)
        except UnicodeEncodeError:
            return  # half a surrogate pair: read the server again next time rather than change what it said
        with self._lock:
            self._remember(key, entry)
        if self._files is not None:
            self._files.write(key, data)

    def _remember(self, key: str, entry: _Entry) -> None:
        self._memory[key] = entry
        if len(self._memory) > _MOST_IN_MEMORY:
            del self._memory[next(iter(self._memory))]

    def _drop(self, key: str) -> None:
        with self._lock:
            self._memory.pop(key, None)
        if self._files is not None:
            self._files.delete(key)


def _usable(entry: _Entry) -> _Entry | None:
    """The entry, unless somebody wrote into its file what we would not have taken from a server."""
    items = [*(entry.tools or ()), *(entry.servers or ())]
    return None if deeper_than(items, _MOST_NESTING) else entry
