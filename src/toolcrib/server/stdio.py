"""The gateway as an MCP server on standard input and output, without a thread per message."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import CLIENT_INFO_META_KEY, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from toolcrib.server.lane import Lane
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.pipes import LineWriter, protocol_streams, read_lines
from toolcrib.wire import jsonrpc

log = logging.getLogger(__name__)


class StdioConnection:
    """One client on a pair of pipes: calls go down the fast lane, all else to the SDK's server."""

    def __init__(self, server: Server[Any], meta_tools: MetaTools, write: Callable[[bytes], None]) -> None:
        self._server = server
        self._write = write
        self.lane = Lane(meta_tools, write, server.server_info_stamp)
        self._to_sdk: MemoryObjectSendStream[SessionMessage | Exception]
        self._from_client: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._to_sdk, self._from_client = anyio.create_memory_object_stream(math.inf)
        self._opening: jsonrpc.Message | None = None

    def feed(self, line: bytes) -> None:
        """Take one line from the client; a broken one is answered and the connection lives on."""
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.BadMessage as problem:
            self._write(jsonrpc.error_response(problem.id, problem.code, str(problem)))
            return
        if message.method == "tools/call" and message.is_request and self.lane.take(message):
            return
        if message.method == "notifications/cancelled" and self.lane.cancel(_param(message, "requestId")):
            return
        self._hand_to_sdk(message, line)

    def end(self) -> None:
        """The client has closed its side."""
        self._to_sdk.close()

    async def run(self) -> None:
        """Serve until the client's side is closed."""
        answers_in: MemoryObjectSendStream[SessionMessage]
        answers_out: MemoryObjectReceiveStream[SessionMessage]
        answers_in, answers_out = anyio.create_memory_object_stream(math.inf)
        writing = asyncio.create_task(self._write_answers(answers_out))
        try:
            await self._server.run(self._from_client, answers_in, self._server.create_initialization_options())
        finally:
            answers_in.close()
            with suppress(asyncio.CancelledError):
                await writing

    def _hand_to_sdk(self, message: jsonrpc.Message, line: bytes) -> None:
        try:
            parsed = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValidationError, ValueError) as problem:
            log.debug("not a JSON-RPC message: %s", problem)
            id = message.id if isinstance(message.id, int | str) else None
            self._write(jsonrpc.error_response(id, jsonrpc.INVALID_REQUEST, "not a JSON-RPC message"))
            return
        if self._opening is None and isinstance(parsed, JSONRPCRequest):
            self._opening = message
        if message.method == "logging/setLevel":
            self.lane.log_level = str(_param(message, "level"))
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._to_sdk.send_nowait(SessionMessage(parsed))

    async def _write_answers(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for answer in answers:
            message = answer.message
            self._write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
            if isinstance(message, JSONRPCResponse) and self._opening is not None and message.id == self._opening.id:
                self._open_lane(self._opening)

    def _open_lane(self, opening: jsonrpc.Message) -> None:
        legacy = opening.method == "initialize"
        info = _param(opening, "clientInfo") if legacy else _meta(opening).get(CLIENT_INFO_META_KEY)
        name = str(info.get("name", "")) if isinstance(info, dict) else ""
        self.lane.open("legacy" if legacy else "modern", name)


async def serve_stdio(
    server: Server[Any], meta_tools: MetaTools, *, stop: asyncio.Event, grace_seconds: float, max_line_bytes: int
) -> None:
    """Serve the process's own standard streams until the client leaves or `stop` is set."""
    with protocol_streams() as (read_fd, write_fd):
        writer = await LineWriter.open(write_fd)
        connection = StdioConnection(server, meta_tools, writer.write)
        serving = asyncio.create_task(connection.run())
        reading = asyncio.create_task(read_lines(read_fd, connection.feed, max_line_bytes))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({serving, reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()
        await connection.lane.finish(grace_seconds)
        connection.end()
        await asyncio.wait({serving}, timeout=grace_seconds)
        for task in (serving, stopping):
            task.cancel()
        await asyncio.gather(serving, reading, stopping, return_exceptions=True)
        await writer.close(grace_seconds)


def _param(message: jsonrpc.Message, name: str) -> Any:
    params = _object(message.params_json)
    return params.get(name)


def _meta(message: jsonrpc.Message) -> dict[str, Any]:
    meta = _object(message.params_json).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _object(text: bytes) -> dict[str, Any]:
    value = msgspec.json.decode(text)
    return value if isinstance(value, dict) else {}
