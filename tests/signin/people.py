"""People who sign in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import httpx2

from tests.signin.house import House
from toolcrib.config.load import load_settings
from toolcrib.engine.sign_ins import SignIns
from toolcrib.signin.record import SignIn


class Browser:
    """A person who goes where they are sent; `visit` may be another way to go there."""

    def __init__(self, visit: Callable[[str], Any] | None = None) -> None:
        self.shown: list[str] = []
        self._visit = visit or self._follow
        self._going: list[asyncio.Task[Any]] = []

    async def show(self, url: str, _take: Callable[[str], bool]) -> None:
        self.shown.append(url)
        self._going.append(asyncio.create_task(self._visit(url)))

    async def show_code(self, _url: str, code: str) -> None:
        self.shown.append(code)

    async def _follow(self, url: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            await client.get(url)


async def signed_in(house: House, browser: Browser | None = None, **more: Any) -> SignIn:
    settings = load_settings(house.configure(), env=os.environ)
    async with asyncio.timeout(20):
        return await SignIns(settings, house.paths, os.environ).sign_in(
            settings.servers[0], browser or Browser(), **more
        )
