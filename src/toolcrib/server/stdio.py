"""The gateway as an MCP server on standard input and output, without a thread per message and without the SDK."""

from __future__ import annotations

import asyncio

from toolcrib.gateway import Gateway
from toolcrib.server.fixed_answers import FixedAnswers
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.pipes import LineWriter, protocol_streams, read_lines
from toolcrib.server.stdio_session import StdioSession


async def serve_stdio(gateway: Gateway, stop: asyncio.Event) -> None:
    """Serve the process's own standard streams until the client leaves or `stop` is set."""
    answers = FixedAnswers(gateway_instructions(gateway))
    with protocol_streams() as (read_fd, write_fd):
        writer = await LineWriter.open(write_fd)
        session = StdioSession(MetaTools(gateway), answers, writer.write)
        lines = read_lines(read_fd, session.feed, lambda: gateway.settings.max_stdio_line_bytes)
        reading, stopping = asyncio.create_task(lines), asyncio.create_task(stop.wait())
        await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, stopping):
            task.cancel()
        seconds = gateway.settings.shutdown_grace_seconds
        await session.calls.finish(seconds)
        await asyncio.gather(reading, stopping, return_exceptions=True)
        await writer.close(seconds)
