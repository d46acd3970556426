"""Who may use the HTTP face: whoever holds the one token or one made for them, or shows a token of an issuer that is trusted."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.routing import Route
from starlette.types import Scope

from toolcrib.model.caller import EVERYTHING, Rights

_IN_SCOPE = "toolcrib.principal"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody that an issuer vouches for, and the client that acts for them.

    `rights` and the `profile` of that name are what they may do. The holder of a named token may use the MCP endpoints only.
    """

    issuer: str
    subject: str
    client: str
    scopes: frozenset[str] = frozenset()
    rights: Rights = EVERYTHING
    profile: str = ""
    is_named_token: bool = False
    # What they may do by the time of the question, where that can end while a request is served.
    rights_by_now: Callable[[], Rights] | None = field(default=None, compare=False)

    def rights_now(self) -> Rights:
        return self.rights if self.rights_by_now is None else self.rights_by_now()


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

    def is_admitted(self, principal: Principal) -> bool:
        """Whether somebody who was admitted may still listen to what began then."""


class Anybody:
    """For programs that check themselves who calls."""

    open_routes: Sequence[Route] = ()

    async def admit(self, _: str) -> None:
        return None

    def is_admitted(self, _: Principal) -> bool:
        return True


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

    def is_admitted(self, _: Principal) -> bool:
        return True


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


def with_principal(scope: Scope, principal: Principal) -> Scope:
    """The scope of a request that is from somebody, for the SDK and for us."""
    return {**scope, "user": as_sdk_user(principal), _IN_SCOPE: principal}


def principal_of(request: Any) -> Principal | None:
    """Who a request is from, where an issuer vouches for somebody."""
    return None if request is None else principal_in(request.scope)


def principal_in(scope: Scope) -> Principal | None:
    found = scope.get(_IN_SCOPE)
    return found if isinstance(found, Principal) else None
