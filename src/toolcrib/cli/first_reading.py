"""Read servers that nobody has read yet, before a command answers; needs the whole gateway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from toolcrib.app.online import open_gateway
from toolcrib.cli.output import Output
from toolcrib.cli.progress import Progress
from toolcrib.cli.wording import counted
from toolcrib.config.settings import Settings
from toolcrib.discovery.many import Slot, each_within
from toolcrib.errors import ToolcribError
from toolcrib.gateway import Gateway

log = logging.getLogger(__name__)

# What the tools mean is learnt along: a hundred take a second.
LEARNING_SECONDS = 20.0


def read_first(settings: Settings, servers: Sequence[str], wait_seconds: float, output: Output) -> None:
    """Read these servers, at most `wait_seconds` in all; what could not be read by then stays unread."""
    asyncio.run(_read_first(settings, servers, wait_seconds, output))


async def _read_first(settings: Settings, servers: Sequence[str], wait_seconds: float, output: Output) -> None:
    # What is odd about the configuration was said already.
    said = replace(settings, problems=(), warnings=())
    with Progress(output.err, "Reading servers", servers, is_quiet=output.is_quiet) as progress:
        async with open_gateway(settings=said, face="cli", read_due=False) as gateway:
            read = await each_within(
                servers,
                partial(_read, gateway, progress),
                most_at_once=settings.max_parallel_discoveries,
                seconds=wait_seconds,
                started=progress.started,
            )
            await gateway.learn_tools(LEARNING_SECONDS)
    if None in read:
        late = read.count(None)
        output.note(f"{late} of {len(servers)} servers could not be read within {wait_seconds:g} s (--wait)")


async def _read(gateway: Gateway, progress: Progress, server: str, slot: Slot) -> bool:
    """Whether the server could be read."""
    async with slot:
        try:
            await gateway.read_server(server)
            tools = await gateway.list_tools(server, include_disabled=True)
        except ToolcribError as error:
            progress.failed(server, error.message)
            return False
        except Exception as error:  # one server must not end the command for the others, whatever happens
            reason = f"reading it failed inside the gateway: {type(error).__name__}"
            log.warning("%s: %s", server, reason, exc_info=log.isEnabledFor(logging.DEBUG))
            progress.failed(server, reason)
            return False
        progress.done(server, counted(len(tools), "tool"))
        return True
