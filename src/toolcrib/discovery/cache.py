"""What servers and registries said a while ago: of configured servers the catalog knows it, of all others files do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolcrib.discovery.cache_key import registry_key, tools_key
from toolcrib.discovery.kept_answers import Answer, CacheFiles, KeptAnswers
from toolcrib.model.server import ServerSpec

DAY_SECONDS = 86_400.0
HOUR_SECONDS = 3_600.0

Item = Mapping[str, Any]


class ConfiguredTools(Protocol):
    """What is known of the tools of configured servers; usable from several threads."""

    def find(self, server: str, launch: str | None) -> ServerSpec | None:
        """The configured server that is launched so, or without a launch the one of this name."""

    def fresh_tools(self, spec: ServerSpec) -> list[Item] | None:
        """The records of its tools; None where they are not known, or count no longer."""

    def keep_schemas(self, spec: ServerSpec, tools: Sequence[Item]) -> None:
        """Keep the output schemas that records have beside their definitions."""

    def expire(self, server: str | None) -> None:
        """Let what is known of the servers of this name, or of all, count no longer."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """How often the cache could answer."""

    hits: int = 0
    misses: int = 0


class MCPCache:
    """Answers kept for a time; safe to use from several threads. A time of 0 serves nothing.

    The tools of `configured` servers are not kept here: what is known of them is asked and expired where it is.
    """

    def __init__(
        self,
        files: CacheFiles | None,
        *,
        now: Callable[[], float],
        tool_ttl_seconds: float = DAY_SECONDS,
        registry_ttl_seconds: float = HOUR_SECONDS,
        configured: ConfiguredTools | None = None,
    ) -> None:
        self._answers = KeptAnswers(files, now)
        self._now = now
        self._configured = configured
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0
        self.configure(tool_ttl_seconds=tool_ttl_seconds, registry_ttl_seconds=registry_ttl_seconds)

    def configure(self, *, tool_ttl_seconds: float, registry_ttl_seconds: float) -> None:
        """Let other times hold from now on, for what is kept already too."""
        self._tool_ttl_seconds = tool_ttl_seconds
        self._registry_ttl_seconds = registry_ttl_seconds

    @property
    def tool_ttl_seconds(self) -> float:
        return self._tool_ttl_seconds

    @property
    def registry_ttl_seconds(self) -> float:
        return self._registry_ttl_seconds

    @property
    def stats(self) -> CacheStats:
        with self._lock:
            return CacheStats(self._hits, self._misses)

    def get_tools(self, server: str, launch: str | None = None) -> list[Item] | None:
        """What is known of this server's tools; with `launch`, only if it was started or reached in the same way then."""
        spec = self._find(server, launch)
        if spec is not None:
            return self._counted(self._from_configured(server, spec))

        def belongs(answer: Answer) -> bool:
            return answer.server == server and launch in {None, answer.launch}

        answer = self._get(tools_key(server), self._tool_ttl_seconds, belongs)
        return self._counted(None if answer is None or answer.tools is None else [*answer.tools])

    def store_tools(self, server: str, tools: Sequence[Item], launch: str = "") -> None:
        """Keep what a server said; `launch` is a fingerprint, since an address may hold a secret.

        Of a configured server only output schemas are kept: its tools are what the catalog read last.
        """
        if self._tool_ttl_seconds <= 0:
            return
        spec = self._find(server, launch)
        if spec is not None and self._configured is not None:
            self._configured.keep_schemas(spec, tools)
        else:
            kept = [dict(tool) for tool in tools]
            self._answers.put(tools_key(server), Answer(self._now(), server=server, launch=launch, tools=kept))

    def get_registry(self, query: str) -> list[Item] | None:
        """What the registry said to this query."""
        answer = self._get(registry_key(query), self._registry_ttl_seconds, lambda answer: answer.query == query)
        return self._counted(None if answer is None or answer.servers is None else [*answer.servers])

    def store_registry(self, query: str, servers: Sequence[Item]) -> None:
        if self._registry_ttl_seconds > 0:
            kept = [dict(server) for server in servers]
            self._answers.put(registry_key(query), Answer(self._now(), query=query, servers=kept))

    def clear(self) -> None:
        """Forget everything, in memory and on disk; configured servers count as not read until they are read again."""
        self._answers.clear()
        if self._configured is not None:
            self._configured.expire(None)

    def clear_server(self, server: str) -> None:
        """Forget the tools of one server; a configured one counts as not read until it is read again."""
        self._answers.drop(tools_key(server))
        if self._configured is not None:
            self._configured.expire(server)

    def drop_files_of(self, specs: Iterable[ServerSpec]) -> None:
        """Remove what was kept of servers before they were configured, or by an earlier version."""
        for spec in specs:
            self._drop_file(spec.name, spec)

    def _find(self, server: str, launch: str | None) -> ServerSpec | None:
        return None if self._configured is None else self._configured.find(server, launch)

    def _from_configured(self, server: str, spec: ServerSpec) -> list[Item] | None:
        self._drop_file(server, spec)
        if self._configured is None or self._tool_ttl_seconds <= 0:
            return None
        return self._configured.fresh_tools(spec)

    def _drop_file(self, server: str, spec: ServerSpec) -> None:
        key = tools_key(server)
        kept = self._answers.get(key, self._tool_ttl_seconds) or self._answers.peek(key)
        if kept is not None and kept.server == server and kept.launch in {"", spec.launch_key}:
            self._answers.drop(key)

    def _get(self, key: str, ttl_seconds: float, belongs: Callable[[Answer], bool]) -> Answer | None:
        answer = self._answers.get(key, ttl_seconds)
        if answer is None or not belongs(answer):
            return None
        self._answers.remember(key, answer)
        return answer

    def _counted(self, found: list[Item] | None) -> list[Item] | None:
        with self._lock:
            if found is None:
                self._misses += 1
            else:
                self._hits += 1
        return found
