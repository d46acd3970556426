"""The gateway as an MCP server on standard input and output, without a thread per message and without the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from toolcrib.gateway import Gateway
from toolcrib.model.caller import Rights
from toolcrib.server.fixed_answers import FixedAnswers
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.kept_session import KeptSession
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.pipes import LineReader, LineWriter, protocol_streams
from toolcrib.server.session_journal import Journal
from toolcrib.server.stdio_calls import WriteLine
from toolcrib.server.stdio_session import StdioSession


class _Reader(Protocol):
    """Feeds the lines of a client until the end of its input."""

    async def run(self) -> None: ...


class _Writer(Protocol):
    """Sends lines to a client."""

    async def close(self, seconds: float) -> None: ...
    def abort(self) -> None: ...


async def serve_stdio(gateway: Gateway, stop: asyncio.Event, *, profile: str = "") -> None:
    """Serve the process's own standard streams until the client leaves or `stop` is set."""
    with protocol_streams() as (read_fd, write_fd):
        writer = await LineWriter.open(write_fd)
        session = _session(gateway, writer.write, Journal(), profile)
        reader = LineReader(read_fd, session.feed, lambda: gateway.settings.max_stdio_line_bytes)
        writer.hold_back(reader)
        await _serve(gateway, session, reader, writer, stop)


async def serve_kept(
    gateway: Gateway,
    kept: KeptSession,
    stop: asyncio.Event,
    *,
    profile: str,
    is_gone: Callable[[], bool],
    when_begun: Callable[[], None],
    when_drained: Callable[[], None],
) -> None:
    """Serve a client of the engine until it leaves or `stop` is set, from where another engine stopped."""
    session = _session(gateway, kept.writer.write, kept.journal, profile)
    reader = kept.reader(session.feed, lambda: gateway.settings.max_stdio_line_bytes)
    session.resume(kept.progress)
    when_begun()
    await _serve(gateway, session, reader, kept.writer, stop, is_gone=is_gone, when_drained=when_drained)


def _session(gateway: Gateway, write: WriteLine, journal: Journal, profile: str) -> StdioSession:
    meta_tools = MetaTools(gateway)

    def rights() -> Rights:
        return gateway.rights(profile)

    words = gateway_instructions(gateway, rights())
    answers = FixedAnswers(words, meta_tools.native, meta_tools.definitions, rights=rights)
    return StdioSession(meta_tools, answers, write, journal, rights=rights)


async def _serve(
    gateway: Gateway,
    session: StdioSession,
    reader: _Reader,
    writer: _Writer,
    stop: asyncio.Event,
    *,
    is_gone: Callable[[], bool] = lambda: False,
    when_drained: Callable[[], None] = lambda: None,
) -> None:
    """Running calls may end in the time that the settings give them, unless the client is gone.

    `when_drained` is called when they had that time, before those that did not end are cancelled.
    """
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
