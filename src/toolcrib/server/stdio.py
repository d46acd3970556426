"""The gateway as an MCP server on standard input and output, without a thread per message and without the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolcrib.gateway import Gateway
from toolcrib.server.fixed_answers import FixedAnswers
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.pipes import LineReader, LineWriter, protocol_streams
from toolcrib.server.session_journal import Journal, Progress
from toolcrib.server.stdio_session import StdioSession


async def serve_stdio(gateway: Gateway, stop: asyncio.Event) -> None:
    """Serve the process's own standard streams until the client leaves or `stop` is set."""
    with protocol_streams() as (read_fd, write_fd):
        await serve_pipes(gateway, read_fd, write_fd, stop)


async def serve_pipes(
    gateway: Gateway,
    read_fd: int,
    write_fd: int,
    stop: asyncio.Event,
    *,
    journal: Journal | None = None,
    progress: Progress | None = None,
    is_gone: Callable[[], bool] = lambda: False,
    when_begun: Callable[[], None] = lambda: None,
    when_drained: Callable[[], None] = lambda: None,
) -> None:
    """Serve one client on its pipes until it leaves or `stop` is set; with `progress`, from where another engine stopped.

    Running calls may then end in the time that the settings give them, unless the client is gone. `when_drained` is
    called when they had that time, before those that did not end are cancelled.
    """
    journal, progress = journal or Journal(), progress or Progress()
    writer = await LineWriter.open(write_fd, journal)
    answers = FixedAnswers(gateway_instructions(gateway))
    session = StdioSession(MetaTools(gateway), answers, writer.write, journal)
    reader = LineReader(
        read_fd, session.feed, lambda: gateway.settings.max_stdio_line_bytes, journal=journal, unfed=progress.unfed
    )
    writer.hold_back(reader)
    session.resume(progress)
    when_begun()
    reading, stopping = asyncio.create_task(reader.run()), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()
        seconds = 0.0 if is_gone() else gateway.settings.shutdown_grace_seconds
        await session.calls.drain(seconds)
        when_drained()
        await session.calls.cancel_all()
        await writer.close(seconds)
    finally:
        reading.cancel()
        stopping.cancel()
        writer.abort()
