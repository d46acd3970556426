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
    when_begun: Callable[[], None] = lambda: None,
    when_drained: Callable[[], None] = lambda: None,
) -> None:
    """Serve one client on its pipes until it leaves or `stop` is set; with `progress`, from where another engine stopped.

    `when_drained` is called when running calls had their time, before those that did not end are cancelled.
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
    seconds = 0.0  # for a client that is gone
    try:
        await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()
        seconds = gateway.settings.shutdown_grace_seconds
        await session.calls.drain(seconds)
        when_drained()
    finally:
        reading.cancel()
        stopping.cancel()
        await session.calls.cancel_all()
        await asyncio.gather(reading, stopping, return_exceptions=True)
        await writer.close(seconds)
