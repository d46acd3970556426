"""Announcements on the network: heard on all chosen interfaces as they come and go, and made where a person wants it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from toolcrib.config.settings import Settings
from toolcrib.engine.peer_wiring import OpenDesk
from toolcrib.lan.dns_sd import DnsSd
from toolcrib.peers.addresses import OwnAddress, reached_at

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
Networks = Callable[[], Sequence[OwnAddress]]


async def announce_and_look(opened: OpenDesk, networks: Networks, settings: Callable[[], Settings]) -> None:
    """Hear of others, and let them hear of us, for as long as this runs; other interfaces are taken over as they come."""
    complaint = ""
    while True:
        chosen = networks()
        finder = DnsSd(chosen, own_id=opened.desk.peer_id, tag=settings().peers_tag)
        try:
            await finder.start(opened.desk.seen)
            await _keep_announced(finder, opened, networks, chosen, settings)
            complaint = ""
        except OSError as problem:
            if str(problem) != complaint:
                log.warning("peers can't be heard on the network now, only those with known addresses: %s", problem)
            complaint = str(problem)
            await asyncio.sleep(LOOK_SECONDS)
        finally:
            await finder.close()


async def _keep_announced(
    finder: DnsSd,
    opened: OpenDesk,
    networks: Networks,
    chosen: Sequence[OwnAddress],
    settings: Callable[[], Settings],
) -> None:
    """Return once this machine has other addresses."""
    said: object = None
    while networks() == chosen:
        card = opened.own_card.current()
        multiaddrs = tuple(opened.desk.streams.addresses) if opened.desk.streams is not None else ()
        if settings().peers_advertise and card.port and said != (card.etag, multiaddrs):
            said = (card.etag, multiaddrs)
            await finder.announce(card, reached_at(chosen, settings().peers_host, card.port), multiaddrs)
        await asyncio.sleep(LOOK_SECONDS)
