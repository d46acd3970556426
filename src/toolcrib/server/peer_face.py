"""Peers as a face of the gateway: looked for, and listened for, for as long as the person's own settings want that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolcrib.config.settings import SCALARS, Settings
from toolcrib.engine.engine import Engine
from toolcrib.gateway import Gateway
from toolcrib.storage.file_lock import file_lock
from toolcrib.telemetry.face_report import FaceReport

if TYPE_CHECKING:  # most people have no peers, and load nothing of them
    from toolcrib.server.peer_pages import OwnPeer

log = logging.getLogger(__name__)

# How soon edited settings are noticed, and how soon what could not be had is tried for again.
LOOK_SECONDS = 1.0
RETRY_SECONDS = 10.0
# With other values of these everything is opened anew; all others are taken over as they are.
_OPENED_WITH = (
    "peers_advertise",
    "peers_host",
    "peers_port",
    "peers_interfaces",
    "peers_mdns",
    "peers_tag",
    "peers_name",
)
_PEER_SETTINGS = tuple(scalar.name for scalar in SCALARS if scalar.name.startswith("peers_"))


class PeerFace:
    """Takes the role of the one process of a person that is there for peers; what it needs is loaded when it is wanted."""

    def __init__(
        self,
        engine: Engine,
        settings: Callable[[], Settings],
        open_home: Callable[[], AbstractAsyncContextManager[Gateway]],
        when_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._open_home = open_home
        self._report = FaceReport(
            log,
            opened="peers are listened for at",
            closed="peers are no longer listened for",
            failed="no peers can be met now",
            when_changed=when_changed,
        )
        # Who we are to them, while this process is the one that is there for them.
        self.own: OwnPeer | None = None

    @property
    def address(self) -> str:
        """Where peers may come; empty while they can't."""
        return self._report.address

    async def run(self, stop: asyncio.Event) -> None:
        """Be there for peers whenever the settings want it and nobody else is, until `stop` is set."""
        while not stop.is_set():
            wanted = self._values(_OPENED_WITH)
            if wanted is None:
                await _pause(stop, LOOK_SECONDS)
            elif not await self._serve_while(wanted, stop):
                await self._wait_for_another(wanted, stop)

    def _values(self, names: tuple[str, ...]) -> tuple[Any, ...] | None:
        settings = self._settings()
        return tuple(getattr(settings, name) for name in names) if settings.peers_enabled else None

    async def _serve_while(self, wanted: tuple[Any, ...], stop: asyncio.Event) -> bool:
        """Whether it ended because it was no longer wanted so."""
        ending, edited = asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(self._serve(ending, edited))
        stopping = asyncio.create_task(stop.wait())
        known = self._values(_PEER_SETTINGS)
        while self._values(_OPENED_WITH) == wanted and not stop.is_set() and not serving.done():
            await asyncio.wait({serving, stopping}, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if (now := self._values(_PEER_SETTINGS)) != known:
                known = now
                edited.set()
        is_asked = not serving.done()
        ending.set()
        stopping.cancel()
        await asyncio.gather(serving, stopping, return_exceptions=True)
        self._report.complain(serving.exception(), RETRY_SECONDS)
        return is_asked

    async def _wait_for_another(self, wanted: tuple[Any, ...], stop: asyncio.Event) -> None:
        for _ in range(round(RETRY_SECONDS / LOOK_SECONDS)):
            if self._values(_OPENED_WITH) == wanted and not stop.is_set():
                await _pause(stop, LOOK_SECONDS)

    async def _serve(self, ending: asyncio.Event, edited: asyncio.Event) -> None:
        lock = self._engine.paths.peers_lock
        lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file_lock(lock) as is_ours:
            if not is_ours:
                return  # another process of this person is there; what it finds is used here too
            # In a thread: it takes most of a second.
            service = await asyncio.to_thread(import_module, "toolcrib.server.peer_service")
            async with self._open_home() as gateway:
                try:
                    await service.serve(
                        self._engine,
                        gateway,
                        self._settings,
                        ending=ending,
                        edited=edited,
                        on_open=self._is_open,
                        on_ready=self._report.is_at,
                    )
                finally:
                    self.own = None
                    self._report.is_at("")

    def _is_open(self, own: OwnPeer) -> None:
        self.own = own


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
