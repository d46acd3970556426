"""Who may use the HTTP face: whoever holds the one token, or whoever shows a token of an issuer that is trusted."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, principal_components
from starlette.routing import Route


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody that an issuer vouches for, and the client that acts for them."""

    issuer: str
    subject: str
    client: str
    scopes: frozenset[str] = frozenset()


class NotAdmitted(Exception):
    """A request that is refused, with the status and the headers that say why."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


class Admission(Protocol):
    """Decides about each request by its Authorization header."""

    @property
    def open_routes(self) -> Sequence[Route]:
        """Pages that say how to be admitted, so everybody may read them."""

    async def admit(self, authorization: str) -> Principal | None:
        """Who asks; None where nobody in particular is known. Raises NotAdmitted."""


class Anybody:
    """For programs that check themselves who calls."""

    open_routes: Sequence[Route] = ()

    async def admit(self, _: str) -> None:
        return None


class SharedToken:
    """Admits whoever holds the one token."""

    open_routes: Sequence[Route] = ()

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def admit(self, authorization: str) -> None:
        given = bearer_token(authorization)
        if not given or not hmac.compare_digest(given.encode(), self._token):
            message = "a bearer token is needed; it is in the state folder's file 'token'"
            raise NotAdmitted(401, message, {"www-authenticate": "Bearer"})


def bearer_token(authorization: str) -> str:
    """The token in an Authorization header; empty where there is none."""
    scheme, _, given = authorization.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def as_sdk_user(principal: Principal) -> AuthenticatedUser:
    """The principal as the SDK knows one: it lets nobody else into a session that this one has opened. The token stays out of it."""
    known = AccessToken(
        token="",
        client_id=principal.client,
        scopes=sorted(principal.scopes),
        subject=principal.subject,
        claims={"iss": principal.issuer},
    )
    return AuthenticatedUser(known)


def principal_of(request: Any) -> Principal | None:
    """Who a request is from, where an issuer vouches for somebody."""
    user = None if request is None else request.scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        return None
    client, issuer, subject = principal_components(user.access_token)
    return Principal(issuer or "", subject or "", client, frozenset(user.scopes))
