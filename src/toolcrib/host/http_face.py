"""HTTP as a face of the shared engine: it listens for as long as the person's own settings want that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolcrib.config.fixed_settings import fixed_values
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.host.workspaces import SharedWorkspaces, home_view
from toolcrib.telemetry.face_report import FaceReport

if TYPE_CHECKING:  # loaded with the rest of HTTP when it is first wanted
    from toolcrib.server.peer_pages import OwnPeer

log = logging.getLogger(__name__)

# An address that is taken is tried again after this time: the engine that we replace may still be leaving it.
RETRY_SECONDS = 1.0


class HttpFace:
    """Serves the person's own configuration over HTTP; the SDK is loaded when that is first wanted."""

    def __init__(
        self,
        workspaces: SharedWorkspaces,
        settings: Callable[[], Settings],
        env: Mapping[str, str],
        when_changed: Callable[[], None],
        own_peer: Callable[[], OwnPeer | None],
    ) -> None:
        self._workspaces = workspaces
        self._own_peer = own_peer
        self._settings = settings
        self._env = env
        self._report = FaceReport(
            log,
            opened="HTTP clients are served at",
            closed="HTTP clients are no longer served",
            failed="HTTP clients can't be served now",
            when_changed=when_changed,
        )
        self._woken = asyncio.Event()

    @property
    def address(self) -> str:
        """Where clients are served; empty while they are not."""
        return self._report.address

    def look_again(self) -> None:
        """Notice settings that were edited."""
        self._woken.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Listen whenever the settings want it, until `stop` is set."""
        waking = asyncio.create_task(self._wake_at(stop))
        while not stop.is_set():
            self._woken.clear()
            wanted = self._wanted()
            if wanted is None:
                await self._woken.wait()
            else:
                await self._serve_while(wanted, stop)
        await waking

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._woken.set()

    def _wanted(self) -> dict[str, Any] | None:
        """The settings with which to listen; with others it has to begin anew."""
        settings = self._settings()
        return fixed_values(settings) if settings.engine_enabled and settings.engine_http else None

    async def _serve_while(self, wanted: dict[str, Any], stop: asyncio.Event) -> None:
        ending = asyncio.Event()
        serving = asyncio.create_task(self._serve(ending))
        serving.add_done_callback(lambda _: self._woken.set())
        while self._wanted() == wanted and not stop.is_set() and not serving.done():
            self._woken.clear()
            await self._woken.wait()
        is_asked = not serving.done()
        ending.set()
        await asyncio.gather(serving, return_exceptions=True)
        self._report.complain(serving.exception(), RETRY_SECONDS)
        if not is_asked:
            self._woken.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS):
                    await self._woken.wait()

    async def _serve(self, ending: asyncio.Event) -> None:
        # In a thread: it takes most of a second, and clients on pipes go on meanwhile.
        listening = await asyncio.to_thread(import_module, "toolcrib.server.listening")
        async with self._workspaces.opened(await home_view(self._env)) as gateway:
            try:
                await listening.listen(
                    gateway,
                    host=gateway.settings.http_host,
                    port=gateway.settings.http_port,
                    token_file=Paths.of(self._env).token,
                    stop=ending,
                    on_ready=self._report.is_at,
                    own_peer=self._own_peer,
                )
            finally:
                self._report.is_at("")
