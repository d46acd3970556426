"""Sign-ins that calls wait for: one page for all who need the same one at the same time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from toolcrib.calls.sign_in import SignInPage
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.model.server import ServerSpec

MOST_REMEMBERED = 1_000

Wanted = tuple[str, str, str]
"""(launch key, account, scopes)"""


class SessionSignIns:
    """Fulfils `SignIns` of the calls; what signs in is loaded with the first of them."""

    def __init__(self, settings: Callable[[], Settings], paths: Paths, env: Mapping[str, str]) -> None:
        self._settings = settings
        self._paths = paths
        self._env = env
        self._under_way: dict[Wanted, _SignIn] = {}
        self._done_at: dict[Wanted, float] = {}

    def done_at(self, spec: ServerSpec, scopes: str) -> float:
        return self._done_at.get(_wanted(spec, scopes), -math.inf)

    @asynccontextmanager
    async def begun(self, spec: ServerSpec, scopes: str) -> AsyncIterator[SignInPage]:
        wanted = _wanted(spec, scopes)
        sign_in = self._under_way.get(wanted)
        if sign_in is None or sign_in.is_over:
            sign_in = self._under_way[wanted] = _SignIn(lambda guide: self._run(spec, scopes, guide))
        sign_in.waiting += 1
        try:
            yield await sign_in.page()
        finally:
            sign_in.waiting -= 1
            if not sign_in.waiting:
                if self._under_way.get(wanted) is sign_in:
                    del self._under_way[wanted]
                await sign_in.end()

    async def _run(self, spec: ServerSpec, scopes: str, guide: _Shown) -> None:
        # In a thread: much is loaded with it.
        code = await asyncio.to_thread(import_module, "toolcrib.engine.sign_ins")
        await code.SignIns(self._settings(), self._paths, self._env).sign_in(spec, guide, scopes=scopes)
        while len(self._done_at) >= MOST_REMEMBERED:
            self._done_at.pop(next(iter(self._done_at)))
        self._done_at[_wanted(spec, scopes)] = asyncio.get_running_loop().time()


class _Shown:
    """Fulfils `Guide`: what a person is to open is handed to whoever asks them."""

    def __init__(self) -> None:
        self.page: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()

    async def show(self, url: str, _take: Callable[[str], bool]) -> None:
        self.page.set_result((url, ""))

    async def show_code(self, url: str, code: str) -> None:
        self.page.set_result((url, code))


class _SignIn:
    """One sign-in under way, and how many calls wait for it."""

    def __init__(self, run: Callable[[_Shown], Any]) -> None:
        self.waiting = 0
        self._shown = _Shown()
        self._task: asyncio.Task[None] = asyncio.ensure_future(run(self._shown))

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def page(self) -> SignInPage:
        either: set[asyncio.Future[Any]] = {self._task, self._shown.page}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._shown.page.done():
            await self._task  # it failed before there was anything to show
        url, code = self._shown.page.result()
        return SignInPage(url, lambda: asyncio.shield(self._task), code)

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def _wanted(spec: ServerSpec, scopes: str) -> Wanted:
    return spec.launch_key, spec.oauth.account, scopes
