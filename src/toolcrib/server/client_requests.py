"""What we ask of a client of the handshake era on stdio, and its answers."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from toolcrib.model.asking import Conversation, Question, QuestionRefused
from toolcrib.wire import jsonrpc
from toolcrib.wire.jsonrpc import Message, RequestId, on_one_line


class ClientRequests:
    """Pairs answers with requests by id; an answer that nobody waits for is dropped."""

    def __init__(self, tell: Callable[[bytes], None]) -> None:
        self._tell = tell
        # New with each engine: an answer to a question of an engine that is gone must not fit one of ours.
        self._prefix = f"tc-{secrets.token_hex(4)}"
        self._numbers = itertools.count(1)
        self._waiting: dict[RequestId, asyncio.Future[bytes]] = {}

    async def ask(self, method: str, params: bytes) -> bytes:
        """The result that the client answers with; raises QuestionRefused with its error."""
        id = f"{self._prefix}-{next(self._numbers)}"
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answer
        self._tell(jsonrpc.request(id, method, on_one_line(params)))
        try:
            return await answer
        except asyncio.CancelledError:
            self._tell(jsonrpc.notification("notifications/cancelled", msgspec.json.encode({"requestId": id})))
            raise
        finally:
            del self._waiting[id]

    def tell(self, method: str, params: bytes) -> None:
        """Send the client a notification."""
        self._tell(jsonrpc.notification(method, on_one_line(params)))

    def answered(self, message: Message) -> None:
        """Take an answer of the client."""
        waiting = self._waiting.get(message.id) if isinstance(message.id, int | str) else None
        if waiting is None or waiting.done():
            return
        if message.result is not UNSET:
            waiting.set_result(bytes(message.result))
        elif message.error is not UNSET:
            error = jsonrpc.rpc_error(bytes(message.error))
            waiting.set_exception(QuestionRefused(error.code, error.message))


class StdioConversation(Conversation):
    """A client of the handshake era on stdio, which can be asked at any time."""

    knows_url_errors = True

    def __init__(self, requests: ClientRequests, capabilities: Mapping[str, Any]) -> None:
        self._requests = requests
        self.capabilities = capabilities

    async def ask(self, question: Question) -> bytes:
        return await self._requests.ask(question.method, question.params)

    def tell(self, method: str, params: bytes) -> None:
        self._requests.tell(method, params)
