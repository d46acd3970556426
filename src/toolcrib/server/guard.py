"""Who may speak to the HTTP face: known hosts, known origins, and whoever holds the token."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from toolcrib.errors import ConfigurationError, Problem
from toolcrib.storage.kept_secret import kept_secret

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
FORBIDDEN_CLOSE = 1008
_SCHEMES = ("http", "https")


class Guard:
    """Checks every request of every route before anything else sees it.

    A web page can reach a local port through the browser, so the Host and Origin headers are checked as well as the
    token; `open_paths` need no token, and no path does where whoever runs us checks callers (`token` is None).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Iterable[str],
        origins: Iterable[str],
        open_paths: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._hosts = {host.lower() for host in hosts}
        self._origins = {as_origin(origin) for origin in origins}
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose(FORBIDDEN_CLOSE)(scope, receive, send)
            return
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope), scope["method"], scope["path"])
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, method: str, path: str) -> JSONResponse | None:
        if not self._is_served(headers.get("host", "").lower()):
            return _refuse(421, "this host name is not served here; see http.allowedHosts")
        origin = headers.get("origin")
        is_chosen = origin is not None and as_origin(origin) in self._origins
        if origin is not None and not is_chosen and not _is_own(origin, headers["host"]):
            return _refuse(403, "this web origin may not call; see http.allowedOrigins")
        # A page of our own origin never has to ask first, so nothing is answered without a token there.
        if path in self._open_paths or (is_chosen and _is_preflight(method, headers)):
            return None
        if not self._holds_token(headers.get("authorization", "")):
            return _refuse(401, "a bearer token is needed; it is in the state folder's file 'token'")
        return None

    def _is_served(self, host: str) -> bool:
        return host in self._hosts or _without_port(host) in self._hosts

    def _holds_token(self, authorization: str) -> bool:
        if self._token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)


def allowed_hosts(host: str, more: Iterable[str]) -> list[str]:
    """The host names we answer to: our own address, its loopback names, and what the settings add."""
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return [*LOOPBACK, own, *more]


def as_origin(text: str) -> str:
    """An origin as browsers write it, which is how two of them can be compared."""
    return text.lower().rstrip("/")


def own_origins(hosts: Iterable[str]) -> list[str]:
    """The origins of pages that we could serve under these host names, at any port, as the SDK writes them."""
    return [f"{scheme}://{name}" for scheme in _SCHEMES for host in hosts for name in (host, f"{host}:*")]


def read_or_make_token(path: Path) -> str:
    """The bearer token, made on first need in a file only its owner can read."""
    try:
        return kept_secret(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigurationError(
            [Problem("", f"the bearer token can't be kept there: {problem}", str(path))],
            hint="Make the file readable and its folder writable, or delete the file: a new token is made then.",
        ) from problem


def _is_preflight(method: str, headers: Headers) -> bool:
    """A browser asks before it calls and can't show a token yet; its origin has been checked by then."""
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def _is_own(origin: str, host: str) -> bool:
    """Whether a page of this origin came from the very address that it calls; the host was checked before."""
    scheme, _, address = as_origin(origin).partition("://")
    return scheme in _SCHEMES and address == host.lower()


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _refuse(status: int, message: str) -> JSONResponse:
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": message}, status, headers)
