"""The requests of one server: each is answered in a task of its own, since a person may take minutes over one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from toolcrib.model.asking import QuestionRefused
from toolcrib.upstream.link import RequestHandler
from toolcrib.upstream.pacing import Pace
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, Message, RequestId, error_response, response

log = logging.getLogger(__name__)

# Servers list some of their tools only for clients that can be asked. Who calls one may be able to, or is told.
CAPABILITIES: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}

# A server that floods us with requests and reads no answer must not fill our memory.
MOST_UNDER_WAY = 100


class ServerRequests:
    """Hands requests to `asked` and sends what comes of them; `send` fails quietly."""

    def __init__(self, server: str, asked: RequestHandler, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._server = server
        self._asked = asked
        self._send = send
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}
        self._pace = Pace()

    def take(self, message: Message, request_id: int | None) -> None:
        """Begin to answer a request that came on the stream of our own request with this id, if that is known."""
        id = message.id
        if not isinstance(id, int | str) or id in self._tasks or len(self._tasks) >= MOST_UNDER_WAY:
            return
        if not self._pace.has_turn():
            return
        task = self._tasks[id] = asyncio.ensure_future(self._answer(id, message, request_id))
        task.add_done_callback(lambda _: self._tasks.pop(id, None))

    def withdraw(self, params: bytes) -> None:
        """The server does not wait for an answer any more."""
        task = self._tasks.get(_withdrawn_id(params))
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Nobody is left to hear an answer."""
        for task in list(self._tasks.values()):
            task.cancel()

    async def _answer(self, id: RequestId, message: Message, request_id: int | None) -> None:
        try:
            reply = response(id, await self._asked(str(message.method), message.params_json, request_id))
        except QuestionRefused as refusal:
            reply = error_response(id, refusal.code, refusal.message)
        except Exception:
            log.exception("%s: its request could not be answered", self._server)
            reply = error_response(id, INTERNAL_ERROR, "the request could not be answered")
        await self._send(reply)


class _Withdrawal(msgspec.Struct, rename="camel"):
    request_id: RequestId = ""


def _withdrawn_id(params: bytes) -> RequestId:
    try:
        return msgspec.json.decode(params, type=_Withdrawal).request_id
    except (msgspec.DecodeError, RecursionError):
        return ""
