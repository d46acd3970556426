"""A link over the HTTP+SSE transport of 2024-11-05: one stream brings every answer, requests are POSTed beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing

import httpx2

from toolcrib.errors import ServerConnectionError
from toolcrib.upstream.event_stream import Event
from toolcrib.upstream.http_client import Bearer, HttpAddress, Reply, same_origin
from toolcrib.upstream.link import LinkEars, SessionExpired
from toolcrib.upstream.mux import Mux
from toolcrib.wire.jsonrpc import Json, RpcError

_STREAM_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}
_MESSAGE_HEADERS = {"content-type": "application/json"}
_POST_SECONDS = 10.0
_WRONG_TRANSPORT = "Check that the url is an SSE endpoint; newer servers are reached with type http."


class LegacySseLink:
    """One open event stream and the address it named for messages."""

    attributes = False

    def __init__(self, address: HttpAddress, stream: Reply, ears: LinkEars, max_body_bytes: int) -> None:
        self._address = address
        self._stream = stream
        self._mux = Mux(address.server, self._post, ears)
        self._max_body_bytes = max_body_bytes
        self._endpoint: asyncio.Future[httpx2.URL] = asyncio.get_running_loop().create_future()
        self._extra: Mapping[str, str] = {}
        self._reader = asyncio.create_task(self._read())

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
        connect_seconds: float,
        now: Callable[[], float] = time.time,
        bearer: Bearer | None = None,
    ) -> LegacySseLink:
        """Open the stream and wait for the address it names."""
        address = HttpAddress(server, url, headers, client=client, now=now, bearer=bearer)
        try:
            async with asyncio.timeout(connect_seconds):
                link = cls(address, await _open_stream(address), ears, max_body_bytes)
                try:
                    await asyncio.shield(link._endpoint)
                except BaseException:
                    await link.close()
                    raise
        except TimeoutError:
            message = f"{server}: no SSE stream within {connect_seconds:g} s"
            raise ServerConnectionError(message, server=server, hint=_WRONG_TRANSPORT) from None
        return link

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> Json:
        self._extra = headers
        return await self._mux.request(id, method, params)

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:
        self._extra = headers
        await self._mux.notify(method, params)

    async def wait_closed(self) -> str:
        return await self._mux.wait_closed()

    async def close(self) -> None:
        self._mux.closed("the connection was closed")
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        reason = "the server ended the event stream"
        try:
            async with aclosing(self._stream.events(self._max_body_bytes)) as events:
                async for event in events:
                    self._take(event)
        except ServerConnectionError as problem:
            reason = problem.message
        finally:
            self._lost(reason)
            await self._stream.close()

    def _take(self, event: Event) -> None:
        if event.name == "endpoint" and not self._endpoint.done():
            self._endpoint.set_result(self._checked_endpoint(event.data))
        elif event.name == "message" and event.data:
            self._mux.feed(event.data)

    def _checked_endpoint(self, data: bytes) -> httpx2.URL:
        """The address for messages; only the server that was asked may get them, and the credentials they carry."""
        asked = self._stream.response.request.url
        try:
            endpoint = asked.join(data.decode().strip())
        except (httpx2.InvalidURL, UnicodeDecodeError):
            endpoint = httpx2.URL("")
        if not same_origin(asked, endpoint) or endpoint.userinfo not in (b"", asked.userinfo):
            server = self._address.server
            raise ServerConnectionError(f"{server} named a message address on another origin", server=server)
        return endpoint

    def _lost(self, reason: str) -> None:
        server = self._address.server
        if not self._endpoint.done():
            self._endpoint.set_exception(
                ServerConnectionError(
                    f"{server}: it sent no message address: {reason}", server=server, hint=_WRONG_TRANSPORT
                )
            )
            self._endpoint.exception()  # nobody may be left to look at it
        self._mux.closed(reason)

    async def _post(self, message: bytes) -> None:
        headers = {**_MESSAGE_HEADERS, **{name.lower(): value for name, value in self._extra.items()}}
        try:
            async with asyncio.timeout(_POST_SECONDS):
                reply = await self._address.send("POST", headers, message, self._endpoint.result())
                try:
                    if not reply.ok:
                        raise await reply.error(has_session=True, now=self._address.now())
                finally:
                    await reply.finish()
        except TimeoutError:
            server = self._address.server
            message_text = f"{server} did not accept a message within {_POST_SECONDS:g} s"
            raise ServerConnectionError(message_text, server=server, sent=True) from None
        except SessionExpired as problem:
            # Once the request that met this has failed on its own; the others fail with the stream.
            asyncio.get_running_loop().call_soon(self._mux.closed, str(problem))
            raise


async def _open_stream(address: HttpAddress) -> Reply:
    stream = await address.send("GET", _STREAM_HEADERS)
    if stream.ok:
        return stream
    error = await stream.error(has_session=False, now=address.now())
    await stream.close()
    if isinstance(error, RpcError):
        status = stream.response.status_code
        message = f"{address.server}: {error.message}"
        raise ServerConnectionError(message, server=address.server, hint=_WRONG_TRANSPORT, status=status)
    raise error
