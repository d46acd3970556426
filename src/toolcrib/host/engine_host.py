"""The engine as a host: lets clients in, counts them, and ends when nobody needs it any more."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from toolcrib.connector import control, words
from toolcrib.connector.engine_main import Claim
from toolcrib.connector.hello import COMMAND, CONTROL, STDIO, BadHello
from toolcrib.engine.engine import Engine
from toolcrib.host.command_guest import CommandGuest
from toolcrib.host.guest import MOST_DESCRIPTORS, Guest
from toolcrib.host.status import engine_status
from toolcrib.host.stdio_guest import StdioGuest
from toolcrib.host.workspaces import SharedWorkspaces
from toolcrib.version import VERSION

log = logging.getLogger(__name__)

# Beyond the time that running calls get.
LEAVING_SECONDS = 10.0


class EngineHost:
    """Serves whoever comes by the socket until it is told to stop, or nobody came for a while.

    One that makes no way stays until a person stops it, whatever other engines there are.
    """

    def __init__(
        self,
        engine: Engine,
        claim: Claim,
        workspaces: SharedWorkspaces,
        idle_seconds: Callable[[], float | None],
        http_address: Callable[[], str],
        *,
        makes_way: bool = True,
    ) -> None:
        self._engine = engine
        self._http_address = http_address
        self._started_at = time.time()
        self._claim = claim
        self._workspaces = workspaces
        self._idle_seconds = idle_seconds
        self._makes_way = makes_way
        self._guests: dict[asyncio.Task[None], StdioGuest | None] = {}
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()
        # Set when others may have what only one engine can have, such as a port.
        self.leaving = asyncio.Event()
        self._is_handing_over = False
        self._is_retired = False

    def stop(self, *, handing_over: bool = False) -> None:
        """End soon; with `handing_over` the clients go on in another engine."""
        self._is_handing_over = handing_over
        self.leaving.set()
        self._stopping.set()

    def look_again(self) -> None:
        """Find out anew whether somebody needs this engine."""
        self._changed.set()

    async def run(self) -> None:
        accepting = asyncio.create_task(self._accept())
        idling = asyncio.create_task(self._stop_when_idle())
        await self._stopping.wait()
        for task in (accepting, idling):
            task.cancel()
        await asyncio.gather(accepting, idling, return_exceptions=True)
        # First: whoever comes from now on starts an engine that stays.
        self._claim.give_up()
        await self._see_out()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        self._claim.listener.setblocking(False)
        while True:
            connected, _ = await loop.sock_accept(self._claim.listener)
            task = asyncio.create_task(self._receive(connected))
            self._guests[task] = None
            self._changed.set()
            task.add_done_callback(self._forget)

    async def _receive(self, connected: socket.socket) -> None:
        try:
            guest = await Guest.welcomed(connected)
        except (BadHello, TimeoutError, OSError) as problem:
            log.warning("a connection was refused: %s", str(problem) or "no greeting came")
            return
        try:
            await self._serve(guest)
        except Exception:
            log.exception("a client could not be served")
        finally:
            await guest.close()

    async def _serve(self, guest: Guest) -> None:
        task = asyncio.current_task()
        if guest.hello.kind == CONTROL:
            self._control(guest)
        elif guest.hello.version != VERSION:
            guest.say(words.ALONE, f"the engine that runs has version {VERSION}")
        elif guest.hello.kind == STDIO and len(guest.descriptors) == MOST_DESCRIPTORS and task is not None:
            client = self._guests[task] = StdioGuest(guest, self._workspaces)
            await client.run()
        elif guest.hello.kind == COMMAND and len(guest.descriptors) == 3:
            await CommandGuest(guest, self._workspaces).run()

    def _control(self, guest: Guest) -> None:
        match guest.hello.arguments:
            case [control.STATUS]:
                guest.say(words.SAY, json.dumps(self._status()))
            case [control.STOP]:
                self.stop()
            case [control.RESTART | control.MAKE_WAY] if self._makes_way:
                self.stop(handing_over=True)
            case [control.RETIRE] if self._makes_way:
                self._is_retired = True
                self.leaving.set()
            case _:
                guest.say(words.SAY, "it is `toolcrib serve --http`, which a person has to stop")
                guest.say(words.END, control.REFUSED)
                return
        guest.say(words.END, control.DONE)

    def _status(self) -> dict[str, Any]:
        clients = [client for client in self._guests.values() if client is not None]
        status = engine_status(self._engine, self._workspaces, clients, self._started_at)
        return {**status, "http": self._http_address()}

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._guests.pop(task, None)
        self._changed.set()

    async def _stop_when_idle(self) -> None:
        while True:
            self._changed.clear()
            seconds = None if self._guests else 0 if self._is_retired else self._idle_seconds()
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                log.info("no client came for %g s: the engine ends", seconds or 0)
                self.stop()
                return

    async def _see_out(self) -> None:
        for client in self._guests.values():
            if client is not None:
                client.leave(handing_over=self._is_handing_over)
        left = set(self._guests)
        if left:
            await asyncio.wait(left, timeout=self._workspaces.longest_grace_seconds + LEAVING_SECONDS)
        for task in left:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*left, return_exceptions=True)
