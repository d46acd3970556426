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
from mcp_types import (
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.pipes import LineWriter, protocol_streams, read_lines
from toolcrib.server.stdio_calls import Lane, WriteLine
from toolcrib.wire import jsonrpc
from toolcrib.wire.protocol import LOG_LEVELS

log = logging.getLogger(__name__)


class StdioConnection:
    """One client on a pair of pipes: calls are answered here, all else by the SDK's server."""

    def __init__(self, server: Server[Any], meta_tools: MetaTools, write: WriteLine) -> None:
        self._server = server
        self._write = write
        self.calls = Lane(meta_tools, write, server.server_info_stamp)
        self._to_sdk: MemoryObjectSendStream[SessionMessage | Exception]
        self._from_client: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._to_sdk, self._from_client = anyio.create_memory_object_stream(math.inf)
        self._opening: jsonrpc.Message | None = None
        self._owed: set[jsonrpc.RequestId] = set()
        self._nothing_owed = asyncio.Event()
        self._nothing_owed.set()

    def feed(self, line: bytes) -> None:
        """Take one line from the client; a broken one is answered and the connection lives on."""
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.BadMessage as problem:
            self._write(jsonrpc.error_response(problem.id, problem.code, str(problem)))
            return
        if message.is_request and message.id is None:
            self._write(jsonrpc.error_response(None, jsonrpc.INVALID_REQUEST, jsonrpc.NULL_ID))
            return
        if message.method == "tools/call" and message.is_request and self.calls.take(message):
            return
        if message.method == "notifications/cancelled" and self.calls.cancel(_param(message, "requestId")):
            return
        self._hand_to_sdk(message, line)

    async def finish(self, grace_seconds: float) -> None:
        """The client is heard no more: let what it asked for end within the grace, then stop."""
        await asyncio.gather(self.calls.finish(grace_seconds), self._sdk_finished(grace_seconds))
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
            self._nothing_owed.set()
            answers_in.close()
            with suppress(asyncio.CancelledError):
                await writing

    async def _sdk_finished(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._nothing_owed.wait(), seconds)

    def _hand_to_sdk(self, message: jsonrpc.Message, line: bytes) -> None:
        try:
            parsed = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValidationError, ValueError) as problem:
            log.debug("not a JSON-RPC message: %s", problem)
            id = message.id if isinstance(message.id, int | str) else None
            self._write(jsonrpc.error_response(id, jsonrpc.INVALID_REQUEST, "not a JSON-RPC message"))
            return
        if isinstance(parsed, JSONRPCRequest):
            self._note_opening(message)
            self._owe(parsed)
        elif message.method == "notifications/cancelled":
            self._owe_no_more(_param(message, "requestId"))
        if message.method == "logging/setLevel" and (level := _param(message, "level")) in LOG_LEVELS:
            self.calls.log_level = level
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._to_sdk.send_nowait(SessionMessage(parsed))

    def _note_opening(self, request: jsonrpc.Message) -> None:
        """The request that settles the era; others, such as an early ping, are welcome before it."""
        if self._opening is None and (request.method == "initialize" or PROTOCOL_VERSION_META_KEY in _meta(request)):
            self._opening = request

    def _owe(self, request: JSONRPCRequest) -> None:
        if request.method != "subscriptions/listen":  # stays open for as long as the client listens
            self._owed.add(request.id)
            self._nothing_owed.clear()

    def _owe_no_more(self, request_id: Any) -> None:
        if isinstance(request_id, int | str):
            self._owed.discard(request_id)
        if not self._owed:
            self._nothing_owed.set()

    async def _write_answers(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for answer in answers:
            message = answer.message
            self._write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._owe_no_more(message.id)
                self._note_answer(message)

    def _note_answer(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        if self._opening is None or answer.id != self._opening.id:
            return
        if isinstance(answer, JSONRPCResponse):
            self._open_calls(self._opening)
        else:
            self._opening = None  # refused, as a revision of the future is: the client may try another

    def _open_calls(self, opening: jsonrpc.Message) -> None:
        legacy = opening.method == "initialize"
        info = _param(opening, "clientInfo") if legacy else _meta(opening).get(CLIENT_INFO_META_KEY)
        self.calls.open("legacy" if legacy else "modern", info if isinstance(info, dict) else {})


async def serve_stdio(
    server: Server[Any],
    meta_tools: MetaTools,
    *,
    stop: asyncio.Event,
    grace_seconds: Callable[[], float],
    max_line_bytes: Callable[[], int],
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
        seconds = grace_seconds()
        await connection.finish(seconds)
        await asyncio.wait({serving}, timeout=seconds)
        for task in (serving, stopping):
            task.cancel()
        await asyncio.gather(serving, reading, stopping, return_exceptions=True)
        await writer.close(seconds)


def _param(message: jsonrpc.Message, name: str) -> Any:
    params = _object(message.params_json)
    return params.get(name)


def _meta(message: jsonrpc.Message) -> dict[str, Any]:
    meta = _object(message.params_json).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _object(text: bytes) -> dict[str, Any]:
    value = msgspec.json.decode(text)
    return value if isinstance(value, dict) else {}
