"""What peers are called here, and who claims the name of somebody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolcrib.config.names import shorten, slug
from toolcrib.model.peer import PEER_SERVER_PREFIX, KnownPeer

_END_CHARACTERS = 6
IsTaken = Callable[[str], bool]


def server_name(title: str) -> str:
    """The server's name of a peer that calls itself so, where nobody else has it."""
    return shorten(PEER_SERVER_PREFIX + slug(title), title)


def unnamed(peer_id: str, is_taken: IsTaken) -> str:
    """The name of a peer that has not sent its card; two ids may have the same end."""
    short = PEER_SERVER_PREFIX + peer_id[-_END_CHARACTERS:]
    return PEER_SERVER_PREFIX + peer_id if is_taken(short) else short


def name_for(peer: KnownPeer, title: str, is_taken: IsTaken) -> str:
    """The name of a peer that calls itself so; if another has it, with the end of its id."""
    plain, end = server_name(title), peer.peer_id[-_END_CHARACTERS:]
    candidates = (plain, f"{plain[: 63 - len(end)]}-{end}")
    return next((name for name in candidates if not is_taken(name)), peer.server)


def whose_name(title: str, peers: Iterable[KnownPeer]) -> KnownPeer | None:
    """The trusted peer that is called so, however it is spelled."""
    claimed = slug(title).lower()
    return next((peer for peer in peers if peer.is_trusted and claimed in _names(peer)), None)


def _names(peer: KnownPeer) -> set[str]:
    return {slug(peer.title).lower(), peer.server.removeprefix(PEER_SERVER_PREFIX).lower()}
