"""The same lines sent to our session on stdio and to the SDK's server, which judges it."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from tests.fakes import eventually
from toolcrib import Gateway
from toolcrib.model.caller import EVERYTHING, Rights
from toolcrib.server.fixed_answers import FixedAnswers
from toolcrib.server.listening_clients import SUBSCRIBE, UNSUBSCRIBE
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.native_methods import METHODS
from toolcrib.server.protocol import build_server
from toolcrib.server.stdio_session import StdioSession
from toolcrib.wire.jsonrpc import Json

TAKE_TIME = {"tools/call", SUBSCRIBE, UNSUBSCRIBE, *METHODS}
INSTRUCTIONS = "Ask for a tool."
Message = dict[str, Any]
Answers = list[Message]


class OurPeer:
    """Our session, which answers all that takes no time before `send` returns."""

    def __init__(self, gateway: Gateway) -> None:
        self.answers: Answers = []
        # What it may use; a profile can be edited while it is connected.
        self.rights = EVERYTHING
        meta_tools = MetaTools(gateway)
        answers = FixedAnswers(INSTRUCTIONS, meta_tools.native, rights=self._rights)
        self.session = StdioSession(meta_tools, answers, self._take, rights=self._rights)

    def _rights(self) -> Rights:
        return self.rights

    def _take(self, *parts: Json) -> None:
        self.answers.append(json.loads(b"".join(parts)))

    async def send(self, message: Any) -> None:
        asked = len(self.answers)
        self.session.feed(message if isinstance(message, bytes) else json.dumps(message).encode())
        if isinstance(message, dict) and "id" in message and message.get("method") in TAKE_TIME:
            await eventually(lambda: len(self.answers) > asked)


class SdkPeer:
    """The SDK's server with our tools in it, on a pair of streams."""

    def __init__(self, write: Callable[[SessionMessage], None]) -> None:
        self.answers: Answers = []
        self._write = write

    async def send(self, message: Message) -> None:
        parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
        asked = len(self.answers)
        self._write(SessionMessage(parsed))
        if isinstance(parsed, JSONRPCRequest):
            await eventually(lambda: len(self.answers) > asked)


@asynccontextmanager
async def sdk_peer(gateway: Gateway) -> AsyncIterator[SdkPeer]:
    server = build_server(MetaTools(gateway), instructions=INSTRUCTIONS)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](math.inf)
    peer = SdkPeer(to_server.send_nowait)

    async def collect() -> None:
        async with from_server:
            async for answer in from_server:
                peer.answers.append(json.loads(answer.message.model_dump_json(by_alias=True, exclude_unset=True)))

    tasks = asyncio.gather(server.run(from_client, to_client, server.create_initialization_options()), collect())
    try:
        yield peer
    finally:
        to_server.close()
        await asyncio.wait_for(tasks, 10)


async def both_answers(gateway: Gateway, messages: Sequence[Message]) -> tuple[Answers, Answers]:
    """What we and the SDK answer to these messages, each on a connection of its own."""
    ours = OurPeer(gateway)
    async with sdk_peer(gateway) as theirs:
        for message in messages:
            await ours.send(message)
            await theirs.send(message)
        return [comparable(answer) for answer in ours.answers], [comparable(answer) for answer in theirs.answers]


def comparable(answer: Message) -> Message:
    """An answer without the words of an error, which are each one's own, and without `data: null`, which says nothing."""
    if "error" not in answer:
        return answer
    told = {key: value for key, value in answer["error"].items() if value is not None}
    return {**answer, "error": {**told, "message": bool(told["message"])}}


def is_message(line: bytes) -> bool:
    """Whether the SDK takes a line for a message at all."""
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValidationError, ValueError):
        return False
    return True
