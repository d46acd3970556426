"""Several registries in order: on the same name the first one wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolcrib.errors import ToolcribError
from toolcrib.registry.client import RegistryClient
from toolcrib.registry.entry import RegistryServer
from toolcrib.search.terms import fold

_MOST_WORDS = 3
_SHORTEST_WORD = 3


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """What the registries answered, and what kept some of them from it."""

    servers: tuple[RegistryServer, ...]
    troubles: tuple[str, ...] = ()


class Registries:
    """Asks all of them; one that fails costs only its own answers, unless none is left."""

    def __init__(self, clients: Sequence[RegistryClient]) -> None:
        self._clients = tuple(clients)

    async def search(self, query: str, limit: int = 50) -> LiveAnswer:
        """Servers that hold the query, or one of its words where none holds it whole; not ranked."""
        found: dict[str, RegistryServer] = {}
        troubles: list[ToolcribError] = []
        for client in self._clients:
            try:
                for server in await _by_words(client, query, limit):
                    found.setdefault(server.name, server)
            except ToolcribError as trouble:
                troubles.append(trouble)
        if troubles and len(troubles) == len(self._clients):
            raise troubles[0]
        return LiveAnswer(tuple(found.values()), tuple(trouble.message for trouble in troubles))

    async def server(self, name: str, version: str = "latest") -> RegistryServer | None:
        """One server from the first registry that has it.

        A registry that fails is not passed over: the next one may hold another server of that name.
        """
        for client in self._clients:
            server = await client.server(name, version)
            if server is not None and server.status != "deleted":
                return server
        return None

    async def versions(self, name: str) -> list[RegistryServer]:
        """All versions from the first registry that has any, the newest first."""
        for client in self._clients:
            if found := await client.versions(name):
                return found
        return []


async def _by_words(client: RegistryClient, query: str, limit: int) -> list[RegistryServer]:
    found = await client.search(query.strip(), limit)
    if found:
        return found
    words = sorted({word for word in fold(query).split() if len(word) >= _SHORTEST_WORD}, key=len, reverse=True)
    if words == [query.strip()]:
        return []
    return [server for word in words[:_MOST_WORDS] for server in await client.search(word, limit)]
