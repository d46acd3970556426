"""What is around a command that runs in the engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from toolcrib.catalog.store import GatewayRow
from toolcrib.config.settings import Settings
from toolcrib.gateway import Gateway
from toolcrib.host.command_streams import Streams
from toolcrib.host.workspaces import ClientView
from toolcrib.workspace.workspace import Workspace

T = TypeVar("T")


class EngineSurroundings:
    """The client's variables, folder and streams, and the engine's gateway."""

    def __init__(
        self,
        view: ClientView,
        streams: Streams,
        gateway: Gateway,
        loop: asyncio.AbstractEventLoop,
        opened: tuple[Workspace, list[GatewayRow]] | None = None,
    ) -> None:
        self._streams = streams
        self._gateway = gateway
        self._loop = loop
        self._opened = opened
        self._task: asyncio.Task[Any] | None = None
        self._is_stopped = False
        self.env: Mapping[str, str] = view.site.env
        self.folder: Path | None = Path(str(view.site.folder))

    @property
    def stdin(self) -> IO[str] | None:
        return self._streams.stdin

    @property
    def stdout(self) -> IO[str]:
        return self._streams.stdout

    @property
    def stderr(self) -> IO[str]:
        return self._streams.stderr

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it on the engine's loop, from the command's thread, and wait until it has ended, also where it is broken off."""
        done: Future[T] = Future()
        self._loop.call_soon_threadsafe(self._start, work, done)
        return done.result()

    def stop(self) -> None:
        """Break off what the command waits for: the person has had enough."""
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()

    def _start(self, work: Coroutine[Any, Any, T], done: Future[T]) -> None:
        task = self._task = self._loop.create_task(work)
        task.add_done_callback(lambda ended: _pass_on(ended, done))
        if self._is_stopped:
            task.cancel()

    @asynccontextmanager
    async def gateway(self, _: Settings) -> AsyncIterator[Gateway]:
        yield self._gateway

    def opened(self) -> tuple[Workspace, list[GatewayRow]] | None:
        return self._opened


def _pass_on(ended: asyncio.Task[T], done: Future[T]) -> None:
    if ended.cancelled():
        done.set_exception(KeyboardInterrupt())
    elif (error := ended.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(ended.result())
