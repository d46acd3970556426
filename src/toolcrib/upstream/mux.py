"""Many requests over one stream of messages (stdio, legacy SSE)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import UNSET

from toolcrib.errors import ServerConnectionError, ToolcribError
from toolcrib.upstream.asked_back import ServerRequests
from toolcrib.upstream.link import LinkEars, SessionExpired
from toolcrib.wire import jsonrpc
from toolcrib.wire.broken_answer import broken_answer, malformed

log = logging.getLogger(__name__)

CANCELLED = "notifications/cancelled"
# Is answered when it ends: nobody waits for its result.
_LISTEN = "subscriptions/listen"
_UNCANCELLABLE = frozenset({"initialize", "server/discover"})


class Mux:
    """Pairs answers with waiting requests by id; an answer nobody waits for is dropped."""

    def __init__(self, server: str, send: Callable[[bytes], Awaitable[None]], ears: LinkEars):
        self._server = server
        self._send = send
        self._ears = ears
        self._waiting: dict[int, asyncio.Future[jsonrpc.Json]] = {}
        self._listening: set[int] = set()
        self._has_complained = False
        self._background: set[asyncio.Task[None]] = set()
        self._requests = ServerRequests(server, ears.asked, self._send_quietly)
        self._closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def request(self, id: int, method: str, params: bytes) -> jsonrpc.Json:
        if self._closed.done():
            raise ServerConnectionError(self._closed.result(), server=self._server)
        answer: asyncio.Future[jsonrpc.Json] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answer
        if method == _LISTEN:
            self._listening.add(id)
        try:
            await self._send(jsonrpc.request(id, method, params))
            return await answer
        except asyncio.CancelledError:
            if method not in _UNCANCELLABLE and not self._closed.done():
                self._send_later(jsonrpc.notification(CANCELLED, b'{"requestId":%d}' % id))
            raise
        finally:
            self._waiting.pop(id, None)
            self._listening.discard(id)
            _settled(answer)

    async def notify(self, method: str, params: bytes) -> None:
        await self._send(jsonrpc.notification(method, params))

    async def wait_closed(self) -> str:
        return await asyncio.shield(self._closed)

    def feed(self, line: bytes) -> None:
        """Take one message from the server; a malformed answer fails its request, anything else malformed is passed over."""
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.BadMessage as problem:
            log.debug("%s sent a line that is not a message: %s", self._server, problem)
            self._fail_malformed(line, problem)
            return
        if message.method is UNSET:
            self._settle(message)
        elif message.id is UNSET:
            if message.method == CANCELLED:
                self._requests.withdraw(message.params_json)
            self._ears.notified(message.method, message.params_json, None)
        else:
            self._requests.take(message, None)

    def closed(self, reason: str) -> None:
        """The stream ended: every waiting request fails with `reason`."""
        if self._closed.done():
            return
        self._closed.set_result(reason)
        self._requests.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ServerConnectionError(reason, server=self._server, sent=True))

    def _fail_malformed(self, line: bytes, problem: jsonrpc.BadMessage) -> None:
        """Fail the request that this was to answer: nothing else will come for it."""
        broken = broken_answer(line)
        if broken is None:
            return
        id = broken.id
        if id is None:
            waiting = self._waiting.keys() - self._listening
            id = waiting.pop() if len(waiting) == 1 else None
            self._complain(problem)
        answer = None if id is None else self._waiting.get(id)
        if answer is not None and not answer.done():
            answer.set_exception(malformed(problem))

    def _complain(self, problem: jsonrpc.BadMessage) -> None:
        if not self._has_complained:
            self._has_complained = True
            message = "%s sent an answer that can't be read (%s), so nobody can tell which request it is for"
            log.warning(message, self._server, problem)

    def _settle(self, message: jsonrpc.Message) -> None:
        answer = self._waiting.get(message.id) if isinstance(message.id, int) else None
        if answer is None or answer.done():
            return
        if message.result is not UNSET:
            answer.set_result(message.result)
        elif message.error is not UNSET:
            answer.set_exception(jsonrpc.rpc_error(bytes(message.error)))
        else:
            answer.set_exception(jsonrpc.RpcError(jsonrpc.INVALID_REQUEST, "the answer held neither result nor error"))

    def _send_later(self, line: bytes) -> None:
        task = asyncio.ensure_future(self._send_quietly(line))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _send_quietly(self, line: bytes) -> None:
        try:
            await self._send(line)
        except (ToolcribError, jsonrpc.RpcError, SessionExpired) as trouble:
            log.debug("%s did not accept a message: %s", self._server, trouble)


def _settled(answer: asyncio.Future[jsonrpc.Json]) -> None:
    """Nobody waits for this answer any more: let a failure set meanwhile pass without a complaint from asyncio."""
    if not answer.done():
        answer.cancel()
    elif not answer.cancelled():
        answer.exception()
