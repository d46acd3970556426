"""The peers that workspaces show; nothing about peers is loaded before one of them wants to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.workspace.overlay import Overlay

if TYPE_CHECKING:
    from toolcrib.engine.peer_specs import PeerSpecs


class LatePeers:
    """Opened with the first `follow`; until then there are none."""

    def __init__(self, settings: Callable[[], Settings], paths: Paths) -> None:
        self._settings = settings
        self._paths = paths
        self._opened: PeerSpecs | None = None
        self._following = asyncio.Lock()

    def overlay(self) -> Overlay:
        return Overlay() if self._opened is None else self._opened.overlay()

    async def follow(self, token: int | None) -> None:
        """Take over what was written about peers, if the catalog's change token is another one."""
        async with self._following:
            self._opened = self._opened or await self._open()
            await self._opened.follow(token)

    async def _open(self) -> PeerSpecs:
        module = await asyncio.to_thread(import_module, "toolcrib.engine.peer_specs")
        opened: PeerSpecs = await asyncio.to_thread(module.PeerSpecs.opened, self._settings, self._paths)
        return opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
