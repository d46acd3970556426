"""HTTP as the links need it: one pooled client for all servers, and each server's own address, headers and cookies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Protocol

import httpx2

from toolcrib.errors import AnswerTooLarge, ConfigurationError, NeedsConfiguration, Problem, ServerConnectionError
from toolcrib.signin.challenge import is_insufficient_scope
from toolcrib.upstream.checked_network import Places, check_connections
from toolcrib.upstream.event_stream import Event, EventTooLarge, read_events
from toolcrib.upstream.http_errors import origin_of, status_error, translated, unexpected_status

_WRITE_SECONDS = 30.0
_IDLE_SECONDS = 30.0
_DRAIN_SECONDS = 1.0
_DRAIN_BYTES = 64 * 1024
_ERROR_BODY_BYTES = 64 * 1024
_MAX_REDIRECTS = 5
# With the token at hand, with the one another process has by now, and with a new one.
_MAX_TOKENS = 3
_LAST_PORT = 65535
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


def open_http_client(
    *,
    user_agent: str,
    connect_seconds: float,
    max_connections: int | None = None,
    max_idle_connections: int = 100,
    places: Places | None = None,
) -> httpx2.AsyncClient:
    """The client all links share; the caller closes it. Answers may take any time: whoever asks bounds the wait.

    `places` is for addresses that others gave us: it says where a name may lead.
    """
    try:
        verify = httpx2.create_ssl_context()
        client = httpx2.AsyncClient(
            verify=verify,
            headers={"user-agent": user_agent},
            timeout=request_timeout(connect_seconds),
            limits=httpx2.Limits(
                max_connections=max_connections,
                max_keepalive_connections=max_idle_connections,
                keepalive_expiry=_IDLE_SECONDS,
            ),
            # Cookies belong to one link, or two accounts on one host would share a session.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            # No proxy can reach a server on this machine's own loopback address.
            mounts=dict.fromkeys(_LOOPBACK),
            follow_redirects=False,
        )
        return client if places is None else check_connections(client, places, verify)
    except (ImportError, ValueError, OSError, httpx2.InvalidURL) as problem:
        raise ConfigurationError(
            [Problem("the proxy and CA variables", str(problem), "the environment")],
            hint="Correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE or SSL_CERT_DIR.",
        ) from problem


def request_timeout(connect_seconds: float) -> httpx2.Timeout:
    """How long the parts of a request may take; its answer may take any time."""
    return httpx2.Timeout(connect=connect_seconds, read=None, write=_WRITE_SECONDS, pool=connect_seconds)


class Reply:
    """An HTTP answer whose body is still to be read; `close` or `finish` it."""

    def __init__(self, server: str, response: httpx2.Response) -> None:
        self._server = server
        self.response = response
        self._chunks = response.aiter_bytes()

    @property
    def ok(self) -> bool:
        return 200 <= self.response.status_code < 300

    @property
    def is_event_stream(self) -> bool:
        return self.content_type == "text/event-stream"

    @property
    def content_type(self) -> str:
        return self.response.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def events(self, max_bytes: int) -> AsyncGenerator[Event, None]:
        """The messages of the body as they come; one above `max_bytes` after decompression fails the request."""
        url = self.response.request.url
        try:
            with translated(self._server, url):
                async with aclosing(read_events(self._chunks, max_bytes)) as events:
                    async for event in events:
                        yield event
        except EventTooLarge:
            raise AnswerTooLarge(
                f"{self._server} at {origin_of(url)}: an answer is larger than {max_bytes} bytes",
                server=self._server,
                sent=True,
                hint="Ask the tool for less, or raise the limit on HTTP bodies in the configuration.",
            ) from None

    async def error(self, *, has_session: bool, now: float) -> Exception:
        """What the status says, read together with as much of the body as an error needs."""
        try:
            body = await self.beginning(_ERROR_BODY_BYTES)
        except (httpx2.HTTPError, httpx2.StreamError):
            body = b""
        return status_error(self._server, self.response, body, has_session=has_session, now=now)

    def without_result(self) -> ServerConnectionError:
        """The error for a success that brought no answer."""
        return unexpected_status(self._server, self.response)

    async def finish(self) -> None:
        """Read what little may be left, so that the connection can serve the next request; then close."""
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self.beginning(_DRAIN_BYTES)
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
            pass
        finally:
            await self.close()

    async def close(self) -> None:
        """Give the connection up; a server of the modern era reads this as a cancel."""
        await self._chunks.aclose()
        await self.response.aclose()

    async def beginning(self, max_bytes: int) -> bytes:
        """The body, or as much of it as `max_bytes`."""
        parts, left = [], max_bytes
        async for chunk in self._chunks:
            parts.append(chunk[:left])
            left -= len(chunk)
            if left < 0:
                break
        return b"".join(parts)


class Bearer(Protocol):
    """Gives out the token of a sign-in, and renews it."""

    async def header(self, server: str) -> str:
        """The Authorization header; empty where nobody has signed in. Raises SignInRequired or SignInUnavailable."""

    async def refused(self, server: str, sent: str, status: int, told: str) -> bool:
        """Whether to send it once more; `told` is the WWW-Authenticate header. Raises as `header` does."""


class HttpAddress:
    """Where one server is reached: its URL, the headers of its entry, the cookies it gave, and who signed in to it."""

    def __init__(
        self,
        server: str,
        url: str,
        headers: Mapping[str, str],
        *,
        client: httpx2.AsyncClient,
        now: Callable[[], float],
        bearer: Bearer | None = None,
    ) -> None:
        self.server = server
        self.url = _checked_url(server, url)
        self._headers = _checked_headers(server, headers)
        self._client = client
        self._cookies = httpx2.Cookies()
        self._bearer = bearer
        self.now = now

    async def send(
        self, method: str, headers: Mapping[str, str], content: bytes = b"", url: httpx2.URL | None = None
    ) -> Reply:
        """Send a request and wait for the head of its answer; redirects are followed within the origin only.

        With a sign-in, a token that is refused is renewed, and the request sent once more: nobody has acted on it.
        """
        if self._bearer is None:
            return await self._send(method, headers, content, url)
        for _ in range(_MAX_TOKENS):
            sent = await self._bearer.header(self.server)
            reply = await self._send(method, {**headers, "authorization": sent} if sent else headers, content, url)
            if not await self._is_worth_another(self._bearer, sent, reply):
                break
        return reply

    async def _is_worth_another(self, bearer: Bearer, sent: str, reply: Reply) -> bool:
        status, told = reply.response.status_code, reply.response.headers.get("www-authenticate", "")
        if status != 401 and not is_insufficient_scope(status, told):
            return False
        try:
            is_worth = await bearer.refused(self.server, sent, status, told)
        except BaseException:
            await reply.close()
            raise
        if is_worth:
            await reply.finish()
        return is_worth

    async def _send(self, method: str, headers: Mapping[str, str], content: bytes, url: httpx2.URL | None) -> Reply:
        target = url or self.url
        if self._client.is_closed:
            raise ServerConnectionError(f"{self.server}: the gateway is shutting down", server=self.server)
        with translated(self.server, target):
            request = self._client.build_request(
                method, target, headers={**self._headers, **headers}, content=content or None
            )
            for _ in range(_MAX_REDIRECTS + 1):
                self._cookies.set_cookie_header(request)
                response = await self._client.send(request, stream=True)
                self._cookies.extract_cookies(response)
                following = _within_origin(response)
                if following is None:
                    return Reply(self.server, response)
                await Reply(self.server, response).finish()
                request = following
        raise unexpected_status(self.server, response)


def _within_origin(response: httpx2.Response) -> httpx2.Request | None:
    """The request that follows a redirect, if it stays with the server the credentials are for and keeps its method."""
    sent, following = response.request, response.next_request
    if following is None or following.method != sent.method:
        return None
    if following.url.userinfo not in (b"", sent.url.userinfo):
        return None
    return following if _same_place(sent.url, following.url) else None


def _same_place(url: httpx2.URL, location: httpx2.URL) -> bool:
    if same_origin(url, location):
        return True
    upgraded = (url.scheme, location.scheme) == ("http", "https") and url.host == location.host
    return upgraded and url.port is None and location.port is None


def same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    """Whether scheme, host and port are the same (a default port counts as none)."""
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def _checked_url(server: str, url: str) -> httpx2.URL:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host or (parsed.port or 0) > _LAST_PORT:
        raise NeedsConfiguration(
            f"the url of {server} is not an http or https address", server=server, hint="Correct the url of the entry."
        )
    return parsed.copy_with(fragment=None)


def _checked_headers(server: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Lower-cased, so that ours win over an entry's; the value of a bad header is never shown, it may be a token."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value.strip()):
            raise NeedsConfiguration(
                f"the header {name!r} of {server} holds characters that HTTP does not allow",
                server=server,
                hint="Look for a line break or a non-ASCII character in its value or in the variable it comes from.",
            )
    return {name.lower(): value.strip() for name, value in headers.items()}
