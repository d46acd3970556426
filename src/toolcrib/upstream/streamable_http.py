"""A link over Streamable HTTP, in both protocol eras: each request is a POST with an answer stream of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing

import httpx2
from msgspec import UNSET

from toolcrib.errors import AnswerTooLarge, ServerConnectionError, ToolcribError
from toolcrib.upstream.asked_back import ServerRequests
from toolcrib.upstream.http_call import VERSION_HEADER, Call, messages_in
from toolcrib.upstream.http_client import Bearer, HttpAddress, Reply
from toolcrib.upstream.link import LinkEars, SessionExpired
from toolcrib.upstream.listen_stream import ListenStream
from toolcrib.upstream.mux import CANCELLED
from toolcrib.wire import jsonrpc
from toolcrib.wire.protocol import MODERN_PROTOCOL_VERSIONS

log = logging.getLogger(__name__)

SESSION_HEADER = "mcp-session-id"
_LAST_EVENT_HEADER = "last-event-id"
_MESSAGE_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
_STREAM_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}
_FIRST_WORDS = frozenset({"initialize", "server/discover"})
_POST_SECONDS = 10.0
_QUIET_POST_SECONDS = 5.0
_DELETE_SECONDS = 10.0
_RESUMES = 2


class StreamableHttpLink:
    """One server's endpoint. Requests run side by side; those waiting at `close` go on until they are answered."""

    attributes = True

    def __init__(self, address: HttpAddress, ears: LinkEars, max_body_bytes: int) -> None:
        self._address = address
        self._ears = ears
        self._max_body_bytes = max_body_bytes
        self._session_id = ""
        self._version = ""
        self._is_closed = False
        self._is_lost = False
        self._gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._sending: set[asyncio.Task[None]] = set()
        self._draining: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._requests = ServerRequests(address.server, ears.asked, self._post_quietly)

    @classmethod
    async def open(
        cls,
        server: str,
        url: str,
        headers: Mapping[str, str],
        *,
        client: httpx2.AsyncClient,
        ears: LinkEars,
        max_body_bytes: int,
        now: Callable[[], float] = time.time,
        bearer: Bearer | None = None,
    ) -> StreamableHttpLink:
        """A link to `url`, with nothing sent yet; an address or header of no use raises NeedsConfiguration."""
        return cls(HttpAddress(server, url, headers, client=client, now=now, bearer=bearer), ears, max_body_bytes)

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> bytes:
        call = Call(id, method, headers)
        self._begin(call.headers)
        if method == "initialize":
            self._session_id = ""
        try:
            await self._ask(call, jsonrpc.request(id, method, params))
            return call.result()
        except asyncio.CancelledError:
            self._cancel_on_server(call)
            raise
        except SessionExpired as problem:
            self._end(str(problem))
            raise

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:
        extra = {name.lower(): value for name, value in headers.items()}
        self._begin(extra)
        try:
            await self._post(jsonrpc.notification(method, params), extra)
        except SessionExpired as problem:
            self._end(str(problem))
            raise
        if method == "notifications/initialized":
            self.open_listen_stream()

    def open_listen_stream(self) -> None:
        """Hear what a legacy server says outside of requests; without a session there is nothing to hear."""
        if self._session_id and self._listening is None and self._version not in MODERN_PROTOCOL_VERSIONS:
            stream = ListenStream(self._open_stream, lambda data: self._take(data, None), self._max_body_bytes)
            self._listening = asyncio.create_task(stream.run())

    async def wait_closed(self) -> str:
        return await asyncio.shield(self._gone)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        has_session = bool(self._session_id) and not self._gone.done()
        self._end("the connection was closed")
        try:
            if self._sending:
                await asyncio.wait(self._sending, timeout=_QUIET_POST_SECONDS)
            if has_session:
                await self._end_session()
        finally:
            await self._cancel_tasks()

    def _begin(self, headers: Mapping[str, str]) -> None:
        server = self._address.server
        if self._is_closed:
            raise ServerConnectionError(f"{server}: the connection was closed", server=server)
        if self._is_lost:
            raise ServerConnectionError(self._gone.result(), server=server)
        if self._gone.done():
            raise SessionExpired(self._gone.result())
        self._version = headers.get(VERSION_HEADER, "")

    def _end(self, reason: str) -> None:
        if not self._gone.done():
            self._gone.set_result(reason)
        self._requests.close()
        if self._listening is not None:
            self._listening.cancel()

    async def _ask(self, call: Call, message: bytes) -> None:
        headers = self._headers(_MESSAGE_HEADERS, call.headers)
        # The first words are tried in several ways, so that one that fails does not end the link.
        send = self._address.send if call.method in _FIRST_WORDS else self._send
        reply = await send("POST", headers, message)
        await self._read(call, reply)
        fruitless = 0
        while call.answer is None and call.resumable and fruitless < _RESUMES:
            known = call.last_event_id
            await asyncio.sleep(call.resume_seconds)
            await self._resume(call)
            fruitless = fruitless + 1 if call.last_event_id == known else 0
        if call.answer is None:
            raise self._unanswered() if call.heard else reply.without_result()

    async def _read(self, call: Call, reply: Reply) -> None:
        try:
            if not reply.ok:
                raise await reply.error(has_session=bool(self._session_id), now=self._address.now())
            if call.method == "initialize":
                self._session_id = _usable_session(reply.response.headers.get(SESSION_HEADER, ""))
            await self._follow(call, reply)
        finally:
            await self._let_go(reply, is_done=call.answer is not None)

    async def _resume(self, call: Call) -> None:
        """Take a broken stream up after the last event it gave; a server that refuses is not asked again."""
        try:
            reply = await self._open_stream(call.last_event_id)
        except ServerConnectionError:
            return
        try:
            if reply.ok:
                await self._follow(call, reply)
            elif reply.response.status_code < 500:
                call.last_event_id = ""
        finally:
            await self._let_go(reply, is_done=call.answer is not None)

    async def _follow(self, call: Call, reply: Reply) -> None:
        """Read until the answer came; a break in a stream that can be resumed is passed over."""
        try:
            async with aclosing(reply.events(self._max_body_bytes)) as events:
                async for event in events:
                    call.note(event)
                    if event.data and event.name == "message":
                        self._take(event.data, call)
                    if call.answer is not None:
                        return
        except AnswerTooLarge:
            raise
        except ServerConnectionError:
            if not call.resumable:
                raise

    async def _let_go(self, reply: Reply, *, is_done: bool) -> None:
        if not is_done:
            await reply.close()
        elif not reply.response.is_closed:
            _later(reply.finish(), self._draining)

    def _take(self, data: bytes, call: Call | None) -> None:
        for text in messages_in(data):
            try:
                message = jsonrpc.decode(text)
            except jsonrpc.BadMessage as problem:
                log.debug("%s sent something that is not a message: %s", self._address.server, problem)
                if call is not None:
                    call.offer_malformed(text, problem)
                continue
            if message.method is UNSET:
                if call is not None:
                    call.offer(message)
            else:
                self._hear(message, None if call is None else call.id)

    def _hear(self, message: jsonrpc.Message, request_id: int | None) -> None:
        """Take what the server says by itself, on the stream of this request or on one of its own."""
        if message.id is not UNSET:
            self._requests.take(message, request_id)
            return
        if message.method == CANCELLED:
            self._requests.withdraw(message.params_json)
        self._ears.notified(str(message.method), message.params_json, request_id)

    async def _open_stream(self, last_event_id: str) -> Reply:
        resume = {_LAST_EVENT_HEADER: last_event_id} if last_event_id else {}
        return await self._send("GET", self._headers(_STREAM_HEADERS, resume))

    async def _send(self, method: str, headers: Mapping[str, str], content: bytes = b"") -> Reply:
        """Send to an endpoint that was there before: if nobody is there now, the link has ended."""
        try:
            return await self._address.send(method, headers, content)
        except ServerConnectionError as problem:
            if isinstance(problem.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout):
                self._is_lost = True
                self._end(problem.message)
            raise

    def _headers(self, base: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
        headers = dict(base)
        if self._session_id:
            headers[SESSION_HEADER] = self._session_id
        if self._version:
            headers[VERSION_HEADER] = self._version
        return headers | dict(extra)

    async def _post(self, message: bytes, extra: Mapping[str, str]) -> None:
        """Send what has no answer; any success will do."""
        try:
            async with asyncio.timeout(_POST_SECONDS):
                reply = await self._address.send("POST", self._headers(_MESSAGE_HEADERS, extra), message)
                try:
                    if not reply.ok:
                        raise await reply.error(has_session=bool(self._session_id), now=self._address.now())
                finally:
                    await self._let_go(reply, is_done=reply.ok)
        except TimeoutError:
            raise self._unanswered() from None

    async def _post_quietly(self, message: bytes) -> None:
        try:
            async with asyncio.timeout(_QUIET_POST_SECONDS):
                await self._post(message, {})
        except (ToolcribError, jsonrpc.RpcError, SessionExpired, TimeoutError) as problem:
            log.debug("%s did not accept a message: %s", self._address.server, problem)

    def _cancel_on_server(self, call: Call) -> None:
        # In the modern era the closed stream has already said it.
        if not call.is_modern and call.method not in _FIRST_WORDS and not self._is_closed:
            params = b'{"requestId":%d}' % call.id
            _later(self._post_quietly(jsonrpc.notification(CANCELLED, params)), self._sending)

    async def _cancel_tasks(self) -> None:
        tasks = {*self._sending, *self._draining, *({self._listening} if self._listening else ())}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end_session(self) -> None:
        try:
            async with asyncio.timeout(_DELETE_SECONDS):
                reply = await self._address.send("DELETE", self._headers({}, {}))
                await reply.finish()
        except (ToolcribError, TimeoutError) as problem:
            log.debug("could not tell %s that its session ended: %s", self._address.server, problem)

    def _unanswered(self) -> ServerConnectionError:
        server = self._address.server
        message = f"{server}: the answer ended without a result for this request"
        return ServerConnectionError(
            message, server=server, sent=True, hint="Look into the server's log, then try again."
        )


def _later(work: Coroutine[None, None, None], tasks: set[asyncio.Task[None]]) -> None:
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


def _usable_session(session_id: str) -> str:
    return session_id if session_id.isascii() and session_id.isprintable() else ""
