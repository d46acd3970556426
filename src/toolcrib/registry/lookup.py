"""Looking servers up: in the mirror where there is one, else live; every answer says which, and how old it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal

from toolcrib.errors import NotInRegistry, StoreUnavailable
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.mirror import Mirror, Mirrored
from toolcrib.registry.mirror_index import MirrorIndex
from toolcrib.registry.registries import Registries
from toolcrib.registry.search import RegistryHit, RegistryIndex
from toolcrib.search.suggest import nearest

Place = Literal["mirror", "live"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FoundServers:
    """Hits, where they are from, when that was read, and which registries could not be asked."""

    hits: tuple[RegistryHit, ...]
    place: Place
    read_at: float
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundServer:
    """One server in full, where it is from and when that was read."""

    server: RegistryServer
    place: Place
    read_at: float


class RegistryLookup:
    """`live` opens the registries for one question; it is not called where the mirror answers."""

    def __init__(
        self,
        registries: Sequence[str],
        mirror: Mirror | None,
        live: Callable[[], AbstractAsyncContextManager[Registries]],
        *,
        now: Callable[[], float],
    ) -> None:
        self._registries = tuple(registries)
        self._mirror = mirror
        self._index = MirrorIndex(mirror, registries) if mirror is not None else None
        self._live = live
        self._now = now

    async def search(self, query: str, limit: int = 10) -> FoundServers:
        """The servers that fit best, best first."""
        read_at = self._mirror_read_at()
        if read_at is not None and (found := await self._in_mirror(query, limit)) is not None:
            return FoundServers(found, "mirror", read_at)
        return (await self._in_registries(query, limit))[0]

    async def servers(self, query: str, limit: int = 10) -> list[RegistryServer]:
        """The same in full."""
        mirror, read_at = self._mirror, self._mirror_read_at()
        if mirror is not None and read_at is not None:
            hits = await self._in_mirror(query, limit) or ()
            full = [mirror.server(hit.server.name, self._registries) for hit in hits]
            return [server for server in full if server is not None]
        found, by_name = await self._in_registries(query, limit)
        for trouble in found.troubles:
            log.warning("%s", trouble)
        return [by_name[hit.server.name] for hit in found.hits]

    async def server(self, name: str) -> FoundServer:
        """One server by its full name; NotInRegistry names those it may have meant."""
        read_at = self._mirror_read_at()
        if self._mirror is not None and read_at is not None:
            mirrored = self._mirror.server(name, self._registries)
            if mirrored is None:
                raise _unknown(name, [server.name for server in self._mirror.servers(self._registries)])
            return FoundServer(mirrored, "mirror", read_at)
        async with self._live() as registries:
            server = await registries.server(name)
            if server is None:
                alike = await registries.search(name.rpartition("/")[2])
                raise _unknown(name, [found.name for found in alike.servers])
        return FoundServer(server, "live", self._now())

    async def _in_mirror(self, query: str, limit: int) -> tuple[RegistryHit, ...] | None:
        index = await asyncio.to_thread(self._index.current) if self._index is not None else None
        return None if index is None else tuple(index.search(query, limit))

    async def _in_registries(self, query: str, limit: int) -> tuple[FoundServers, dict[str, RegistryServer]]:
        async with self._live() as registries:
            answer = await registries.search(query)
        hits = RegistryIndex(map(_short, answer.servers)).search(query, limit)
        found = FoundServers(tuple(hits), "live", self._now(), answer.troubles)
        return found, {server.name: server for server in answer.servers}

    def _mirror_read_at(self) -> float | None:
        try:
            return self._mirror.read_at(self._registries) if self._mirror is not None else None
        except StoreUnavailable as trouble:
            log.warning("%s", trouble.message)
            return None


def _short(server: RegistryServer) -> Mirrored:
    return Mirrored(server.name, server.title, server.description, server.status, server.registry)


def _unknown(name: str, known: Sequence[str]) -> NotInRegistry:
    return NotInRegistry(
        f"no registry lists a server named '{name[:200]}'",
        hint="`toolcrib registry search` finds servers by what they do.",
        nearest=nearest(name, known),
    )
