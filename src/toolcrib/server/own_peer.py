"""Who we are to peers while this process is there for them: for the pages about peers, and for commands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from toolcrib.engine.own_card import SignedCard
from toolcrib.engine.peer_desk import PeerDesk
from toolcrib.engine.peer_presence import forget_presence, write_presence
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, TOOL_PROTOCOL

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
_OVER_LIBP2P = (CARD_PROTOCOL, MCP_PROTOCOL, TOOL_PROTOCOL)


class ServedPeer:
    """Fulfils `OwnPeer`; `reached_at` are the addresses at which peers can come now."""

    def __init__(self, desk: PeerDesk, reached_at: Callable[[], Sequence[str]]) -> None:
        self._desk = desk
        self._reached_at = reached_at
        self.peer_id = desk.peer_id

    @property
    def protocols(self) -> Sequence[str]:
        return ("mcp", *(_OVER_LIBP2P if self._desk.streams is not None else ()))

    @property
    def transports(self) -> Sequence[str]:
        https = ("https",) if self.card().card.port else ()
        return (*https, *(("libp2p",) if self._desk.streams is not None else ()))

    def addresses(self) -> Sequence[str]:
        streams = self._desk.streams
        return (*self._reached_at(), *(streams.addresses if streams is not None else ()))

    def card(self) -> SignedCard:
        return self._desk.card()


async def keep_written_down(own: ServedPeer, path: Path) -> None:
    """Let commands know where peers reach us, for as long as this runs; addresses of a machine come and go."""
    said: Sequence[str] | None = None
    try:
        while True:
            addresses = tuple(own.addresses())
            if addresses != said:
                said = addresses
                await asyncio.to_thread(_write, path, addresses)
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        forget_presence(path)


def _write(path: Path, addresses: Sequence[str]) -> None:
    try:
        write_presence(path, addresses)
    except OSError as problem:
        log.warning("commands can't tell where peers reach this machine: %s", problem)
