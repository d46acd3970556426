"""Who may speak to the HTTP face: known hosts, known origins, and whoever is admitted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from toolcrib.errors import ConfigurationError, Problem
from toolcrib.server.admission import Admission, NotAdmitted, Principal, with_principal
from toolcrib.server.while_admitted import serve_while
from toolcrib.storage.kept_secret import kept_secret

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
FORBIDDEN_CLOSE = 1008
_SCHEMES = ("http", "https")


class Guard:
    """Checks every request of every route before anything else sees it.

    A web page can reach a local port through the browser, so the Host and Origin headers are checked as well as who
    asks; for `open_paths` that does not matter.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        admission: Admission,
        hosts: Iterable[str],
        origins: Iterable[str],
        open_paths: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._admission = admission
        self._hosts = {host.lower() for host in hosts}
        self._origins = {as_origin(origin) for origin in origins}
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose(FORBIDDEN_CLOSE)(scope, receive, send)
            return
        if scope["type"] == "http":
            try:
                principal = await self._admit(Headers(scope=scope), scope["method"], scope["path"])
            except NotAdmitted as refusal:
                answer = JSONResponse({"error": refusal.message}, refusal.status, refusal.headers)
                await answer(scope, receive, send)
                return
            if principal is not None:
                await self._serve(principal, with_principal(scope, principal), receive, send)
                return
        await self._app(scope, receive, send)

    async def _serve(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        if not principal.is_named_token:
            await self._app(scope, receive, send)
            return
        await serve_while(lambda: self._admission.is_admitted(principal), self._app, scope, receive, send)

    async def _admit(self, headers: Headers, method: str, path: str) -> Principal | None:
        if not self._is_served(headers.get("host", "").lower()):
            raise NotAdmitted(421, "this host name is not served here; see http.allowedHosts")
        origin = headers.get("origin")
        is_chosen = origin is not None and as_origin(origin) in self._origins
        if origin is not None and not is_chosen and not _is_own(origin, headers["host"]):
            raise NotAdmitted(403, "this web origin may not call; see http.allowedOrigins")
        # A page of our own origin never has to ask first, so nothing is answered without a token there.
        if path in self._open_paths or (is_chosen and _is_preflight(method, headers)):
            return None
        return await self._admission.admit(headers.get("authorization", ""))

    def _is_served(self, host: str) -> bool:
        return host in self._hosts or _without_port(host) in self._hosts


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
