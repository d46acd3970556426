"""The registries as the discovery service asks them: the copy on disk first, the network only where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.registry import open_lookup
from toolcrib.engine.registry_addresses import registry_addresses
from toolcrib.limits.rate import RateLimiter
from toolcrib.model.server import ServerSpec
from toolcrib.registry.choose import unapproved_spec
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.lookup import RegistryLookup
from toolcrib.registry.mirror import Mirror

MOST_SERVERS = 10


class ServiceRegistry:
    """Fulfils `RegistrySearch`; nothing is opened or asked before the first search, and without `registry.urls` never."""

    def __init__(self, settings: Callable[[], Settings], paths: Paths, limiter: RateLimiter) -> None:
        self._settings = settings
        self._limiter = limiter
        # Answers are kept by the service itself; here they only serve to be confirmed by their tags.
        self._mirror = Mirror(paths.registry_mirror, now=time.time, fresh_seconds=0)
        self._made: tuple[Settings, RegistryLookup] | None = None

    async def search(self, query: str) -> Sequence[Mapping[str, Any]]:
        """The best servers in our words for them, as plain JSON."""
        settings = self._settings()
        if not registry_addresses(settings):
            return []
        return [_to_entry(server) for server in await self._lookup(settings).servers(query, MOST_SERVERS)]

    def server_config(self, entry: Mapping[str, Any]) -> ServerSpec | None:
        """None also for what is no entry: it may come from a file."""
        try:
            server = msgspec.convert(entry, RegistryServer)
        except msgspec.ValidationError:
            return None
        return unapproved_spec(server)

    def close(self) -> None:
        self._mirror.close()

    def _lookup(self, settings: Settings) -> RegistryLookup:
        if self._made is None or self._made[0] is not settings:
            self._made = settings, open_lookup(settings, self._mirror, is_live=False, limiter=self._limiter)
        return self._made[1]


def _to_entry(server: RegistryServer) -> dict[str, Any]:
    entry: dict[str, Any] = _told(msgspec.to_builtins(server))
    return entry


def _told(value: Any) -> Any:
    """The value without what says nothing."""
    if isinstance(value, dict):
        return {key: _told(item) for key, item in value.items() if item not in ("", None, False, [], {}, ())}
    return [_told(item) for item in value] if isinstance(value, list | tuple) else value
