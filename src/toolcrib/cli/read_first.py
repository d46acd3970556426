"""Read servers that nobody has read yet, before a command answers; needs the whole gateway."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial

from toolcrib.cli.output import Output
from toolcrib.cli.progress import Progress
from toolcrib.cli.surroundings import Surroundings
from toolcrib.cli.ticking import ticking
from toolcrib.cli.wording import counted
from toolcrib.config.settings import Settings
from toolcrib.discovery.parallel import Slot, each_within
from toolcrib.errors import ToolcribError
from toolcrib.gateway import Gateway

log = logging.getLogger(__name__)

# What the tools mean is learnt along: a hundred take a second.
LEARNING_SECONDS = 20.0


def read_first(
    here: Surroundings, settings: Settings, servers: Sequence[str], wait_seconds: float, output: Output
) -> None:
    """Read these servers, at most `wait_seconds` in all; of one that took longer this is remembered."""
    here.run(_read_first(here, settings, servers, wait_seconds, output))


async def _read_first(
    here: Surroundings, settings: Settings, servers: Sequence[str], wait_seconds: float, output: Output
) -> None:
    started: list[str] = []

    def start(server: str) -> None:
        started.append(server)
        progress.started(server)

    with Progress(output.err, "Reading servers", servers, is_quiet=output.is_quiet) as progress:
        async with here.gateway(settings) as gateway:
            async with ticking(progress):
                read = await each_within(
                    servers,
                    partial(_read, gateway, progress),
                    most_at_once=settings.max_parallel_discoveries,
                    seconds=wait_seconds,
                    started=start,
                )
            late = [server for server, is_read in zip(servers, read, strict=True) if is_read is None]
            hung = [one for one in late if one in started and await gateway.give_up_reading(one, wait_seconds)]
            await gateway.learn_tools(LEARNING_SECONDS)
    for note in _notes(hung, len(late) - len(hung), wait_seconds):
        output.note(note)


def _notes(hung: Sequence[str], unstarted: int, wait_seconds: float) -> Iterator[str]:
    """What became of servers that were not read in time; those that hung are named, and not waited for again."""
    if hung:
        names = ", ".join(hung)
        again = f"toolcrib warm {' '.join(hung)}"
        yield (
            f"{names} could not be read within {wait_seconds:g} s (--wait) and will not be waited for again; "
            f"`{again}` takes as long as needed"
        )
    if unstarted:
        noun = "server has" if unstarted == 1 else "servers have"
        yield f"{unstarted} {noun} not been read yet; the next command goes on"


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
