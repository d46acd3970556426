"""A client on pipes that its connector handed over."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

from toolcrib.cli import exits
from toolcrib.cli.wording import in_words
from toolcrib.config.settings import Settings
from toolcrib.connector import words
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.host.guest import Guest
from toolcrib.host.workspaces import ClientView, SharedWorkspaces, parsed_options
from toolcrib.server.kept_session import KeptSession
from toolcrib.server.session_journal import FileJournal
from toolcrib.server.stdio import serve_kept

log = logging.getLogger(__name__)


class StdioGuest:
    """Serves one client from its greeting to its end; `leave` ends it from our side."""

    def __init__(self, guest: Guest, workspaces: SharedWorkspaces) -> None:
        self._guest = guest
        self._workspaces = workspaces
        self._since = time.monotonic()
        self._config: Path | None = None
        self._stop = asyncio.Event()
        self._is_handing_over = False
        self._is_gone = False
        self._journal: FileJournal | None = None

    @property
    def client(self) -> str:
        """What the client calls itself, once it has said so."""
        session = self._journal.session if self._journal is not None else {}
        return str((session.get("era", {}).get("client") or {}).get("name", ""))

    def status(self) -> dict[str, Any]:
        """Who this is, as plain JSON."""
        hello = self._guest.hello
        return {
            "name": self.client,
            "folder": hello.folder,
            "config": str(self._config or ""),
            "seconds": round(time.monotonic() - self._since),
        }

    def leave(self, *, handing_over: bool) -> None:
        """End the session once running calls had their time; handed over, it goes on in another engine."""
        self._is_handing_over = handing_over
        self._stop.set()

    async def run(self) -> None:
        try:
            view = await ClientView.of(self._guest.hello, parsed_options(self._guest.hello))
        except ConfigurationError as error:
            self._guest.say(words.SAY, "\n".join(filter(None, (f"toolcrib: {in_words(error)}", error.hint))))
            self._guest.say(words.END, str(exits.CONFIGURATION))
            return
        if not view.settings.engine_enabled:
            self._guest.say(words.ALONE, f"engine is false in {view.settings.file or 'the settings'}")
            return
        self._config = view.settings.file
        self._tell_of(view.settings)
        async with self._workspaces.opened(view) as gateway:
            await self._serve(gateway, view.profile)
        if not self._is_handing_over and self._journal is not None:
            await self._workspaces.end_session(str(self._journal.session.get("session", "")))

    def _tell_of(self, settings: Settings) -> None:
        for problem in (*settings.problems, *settings.warnings):
            self._guest.say(words.SAY, f"toolcrib: {problem}")
        if unused := self._workspaces.unused_keys(settings):
            self._guest.say(
                words.SAY,
                f"toolcrib: {', '.join(unused)}: not used for this client, since all clients share one engine, which has "
                "these values from your own configuration. `toolcrib serve --in-process` is a gateway of its own.",
            )

    async def _serve(self, gateway: Gateway, profile: str) -> None:
        listening = asyncio.create_task(self._listen(gateway))
        try:
            await self._serve_pipes(gateway, profile)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        self._guest.say(*((words.AGAIN,) if self._is_handing_over else (words.END, str(exits.OK))))

    async def _serve_pipes(self, gateway: Gateway, profile: str) -> None:
        kept = KeptSession(self._guest.descriptors)
        self._journal = kept.journal
        await serve_kept(
            gateway,
            kept,
            self._stop,
            profile=profile,
            is_gone=lambda: self._is_gone,
            when_begun=lambda: self._guest.say(words.TAKEN),
            when_drained=self._drained,
        )

    def _drained(self) -> None:
        if self._is_handing_over and self._journal is not None:
            self._journal.hand_over()

    async def _listen(self, gateway: Gateway) -> None:
        """Follow the connector's words; when it is gone, its client is served no more."""
        async for word in self._guest.heard():
            if word == words.STOP:
                self._stop.set()
            elif word == words.RELOAD:
                await self._reload(gateway)
        self._is_gone = True
        self._stop.set()

    async def _reload(self, gateway: Gateway) -> None:
        try:
            await gateway.reload()
        except ConfigurationError as error:
            self._guest.say(
                words.SAY, f"the configuration was not reloaded; the last good one stays in use:\n{error.message}"
            )
