"""The registries as a place where a missing capability may be found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.registry import open_lookup, open_mirror
from toolcrib.engine.registry_addresses import registry_addresses
from toolcrib.registry.lookup import RegistryLookup


@dataclass(frozen=True, slots=True)
class Offer:
    """Fulfils `RegistryOffer`."""

    name: str
    description: str
    relevance: float
    reasons: tuple[str, ...]


class RegistryOffers:
    """Fulfils `RegistrySource`."""

    def __init__(self, lookup: RegistryLookup) -> None:
        self._lookup = lookup

    async def offers(self, query: str, limit: int) -> list[Offer]:
        found = await self._lookup.search(query, limit)
        return [Offer(hit.server.name, hit.server.description, hit.relevance, hit.reasons) for hit in found.hits]


@contextmanager
def open_offers(settings: Settings, paths: Paths, *, is_live: bool) -> Iterator[RegistryOffers | None]:
    """The copy of the registries, or with `is_live` the registries themselves; None where there is neither."""
    addresses = registry_addresses(settings)
    with closing(open_mirror(settings, paths)) as mirror:
        if not addresses or (not is_live and mirror.read_at(addresses) is None):
            yield None
            return
        yield RegistryOffers(open_lookup(settings, mirror, is_live=is_live))
