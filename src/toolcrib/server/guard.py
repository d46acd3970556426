"""Who may speak to the HTTP face: known hosts, known origins, and whoever holds the token."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """Checks every request of every route before anything else sees it.

    A web page can reach a local port through the browser, so the Host and Origin headers are checked as well as the
    token; `open_paths` need no token.
    """

    def __init__(
        self, app: ASGIApp, *, token: str, hosts: Iterable[str], origins: Iterable[str], open_paths: Iterable[str] = ()
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope), scope["path"])
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, path: str) -> JSONResponse | None:
        if _without_port(headers.get("host", "")) not in self._hosts:
            return _refuse(421, "this host name is not served here; see http.allowedHosts")
        origin = headers.get("origin")
        if origin is not None and origin.lower().rstrip("/") not in self._origins:
            return _refuse(403, "this web origin may not call; see http.allowedOrigins")
        if path not in self._open_paths and not self._holds_token(headers.get("authorization", "")):
            return _refuse(401, "a bearer token is needed; it is in the state folder's file 'token'")
        return None

    def _holds_token(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)


def allowed_hosts(host: str, more: Iterable[str]) -> list[str]:
    """The host names we answer to: our own address, its loopback names, and what the settings add."""
    own = [f"[{host}]" if ":" in host and not host.startswith("[") else host]
    return [*LOOPBACK, *own, *more]


def read_or_make_token(path: Path) -> str:
    """The bearer token, made on first need in a file only its owner can read."""
    with suppress(OSError):
        kept = path.read_text(encoding="ascii").strip()
        if kept:
            path.chmod(0o600)
            return kept
    token = secrets.token_urlsafe(32)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(token + "\n")
        return token
    # Another gateway was faster, or the file was there and empty.
    kept = path.read_text(encoding="ascii").strip()
    if not kept:
        path.write_text(token + "\n", encoding="ascii")
        path.chmod(0o600)
    return kept or token


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def _refuse(status: int, message: str) -> JSONResponse:
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": message}, status, headers)
