"""A command of a person, run in the engine, which has everything at hand that the command would load first."""

from __future__ import annotations

import argparse
import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from toolcrib.cli import exits
from toolcrib.cli.open_catalog import unread_servers
from toolcrib.cli.parser import UsageError
from toolcrib.cli.run import answered
from toolcrib.connector import words
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.host.command_streams import KeptStreams, open_streams
from toolcrib.host.engine_surroundings import EngineSurroundings
from toolcrib.host.guest import Guest
from toolcrib.host.workspaces import ClientView, SharedWorkspaces, parsed

T = TypeVar("T")

# New tools are found by their words at once, and as well as can be after this time at the latest.
LEARNING_SECONDS = 20.0
# These look at what is known and come back at once.
LOOKS = frozenset({"search", "list_servers", "tools", "inspect"})


class NotHere(Exception):
    """The client's own process should run the command."""


class CommandGuest:
    """Runs one command on the streams that its process handed over."""

    def __init__(self, guest: Guest, workspaces: SharedWorkspaces) -> None:
        self._guest = guest
        self._workspaces = workspaces

    async def run(self) -> None:
        try:
            options = self._options()
            view = await ClientView.of(self._guest.hello, options)
            if not view.settings.engine_enabled:
                raise NotHere
            async with self._workspaces.opened(view) as gateway:
                code = await self._code(options, view, gateway)
        except (NotHere, ConfigurationError):
            # What there is to say, or to wait for, is best shown there.
            self._guest.say(words.ALONE)
        else:
            self._guest.say(words.END, str(code))

    def _options(self) -> argparse.Namespace:
        try:
            options = parsed(self._guest.hello.arguments)
        except (UsageError, SystemExit):
            raise NotHere from None
        if options.verbose:
            raise NotHere  # it wants to see the log of its own process
        return options

    async def _code(self, options: argparse.Namespace, view: ClientView, gateway: Gateway) -> int:
        if options.module in LOOKS:
            return await self._look(options, view, gateway)
        self._guest.say(words.TAKEN)
        loop = asyncio.get_running_loop()
        with open_streams(self._guest.descriptors) as streams:
            here = EngineSurroundings(view, streams, gateway, loop)
            running = asyncio.create_task(_in_thread(lambda: _answered(options, here)))
            stopping = asyncio.create_task(self._until_stopped())
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            here.stop()
            stopping.cancel()
            return await running

    async def _look(self, options: argparse.Namespace, view: ClientView, gateway: Gateway) -> int:
        """Answer on the loop, where nothing changes meanwhile; what it says is written by a thread, which may wait."""
        if unread_servers(gateway.workspace.view, view.settings, getattr(options, "server", None)):
            raise NotHere
        if options.module == "search":
            await gateway.learn_tools(LEARNING_SECONDS)
        # Only the list tells of them, and asking for them writes to the catalog.
        rows = await self._workspaces.running_gateways() if options.module == "list_servers" else []
        self._guest.say(words.TAKEN)
        kept = KeptStreams(self._guest.descriptors)
        here = EngineSurroundings(view, kept, gateway, asyncio.get_running_loop(), (gateway.workspace, rows))
        code = _answered(options, here)
        return await _in_thread(lambda: kept.written(code))

    async def _until_stopped(self) -> None:
        async for word in self._guest.heard():
            if word == words.STOP:
                return


def _answered(options: argparse.Namespace, here: EngineSurroundings) -> int:
    options.around = here
    try:
        code = answered(options)
        here.stdout.flush()
        here.stderr.flush()
    except OSError:
        return exits.PIPE_CLOSED
    return code


async def _in_thread(work: Callable[[], T]) -> T:
    """Do it in a thread of its own: those that the engine shares must not wait for a client."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            loop.call_soon_threadsafe(finish, None, error)
        else:
            loop.call_soon_threadsafe(finish, result, None)

    threading.Thread(target=run, daemon=True).start()
    return await done
