"""The HTTP face as an OAuth resource server: tokens of one issuer are asked for, and everybody may read which."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from toolcrib.config.settings import Settings
from toolcrib.engine.issuer_documents import IssuerDocuments
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.model.addresses import is_loopback_host
from toolcrib.server.admission import NotAdmitted, Principal, bearer_token
from toolcrib.server.jwt_check import PublicKey, TokenCheck, TokenRefused, public_keys
from toolcrib.server.key_set import KeySet, KeysUnavailable

METADATA_PATH = "/.well-known/oauth-protected-resource"
RETRY_SECONDS = 5
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_PLAIN = re.compile(r"[\x21\x23-\x7e]+")


def issued_tokens(settings: Settings, own_url: Callable[[], str]) -> IssuedTokens:
    """The admission that the settings ask for; raises ConfigurationError where nobody could use it."""
    _check(settings)
    documents = IssuerDocuments(settings.http_auth_issuer, settings.http_auth_jwks_url)

    async def fetch() -> list[PublicKey]:
        return public_keys(await documents.keys())

    def audience() -> str:
        return settings.http_auth_audience or own_url()

    keys = KeySet(fetch, settings.http_auth_jwks_ttl_seconds)
    return IssuedTokens(
        TokenCheck(keys, settings.http_auth_issuer, audience),
        issuer=settings.http_auth_issuer,
        scopes=settings.http_auth_scopes,
        paths=(settings.http_path, urlsplit(settings.http_auth_audience).path),
        # An audience need not be an address; what clients are told has to be one.
        resource=lambda: audience() if "://" in audience() else own_url(),
    )


class IssuedTokens:
    """Admits whoever shows a token that the issuer made for us, with all scopes that are asked for."""

    def __init__(
        self,
        check: Callable[[str], Awaitable[Principal]],
        *,
        issuer: str,
        scopes: Sequence[str],
        paths: Sequence[str],
        resource: Callable[[], str],
    ) -> None:
        self._check = check
        self._issuer = issuer
        self._scopes = scopes
        self._resource = resource
        # Where a client looks is made of the path by which it reaches us, which may be another one behind a proxy.
        places = dict.fromkeys(METADATA_PATH + path.rstrip("/") for path in ("", *paths))
        self.open_routes = [Route(place, self._metadata, methods=["GET"]) for place in places]

    async def admit(self, authorization: str) -> Principal:
        token = bearer_token(authorization)
        if not token:
            raise self._refusal(401, f"an access token of {self._issuer} is needed")
        try:
            principal = await self._check(token)
        except TokenRefused as reason:
            raise self._refusal(401, str(reason), error="invalid_token", error_description=str(reason)) from None
        except KeysUnavailable:
            message = f"{self._issuer} can't be reached, so no token can be checked now; you need not sign in again"
            raise NotAdmitted(503, message, {"retry-after": str(RETRY_SECONDS)}) from None
        if missing := [scope for scope in self._scopes if scope not in principal.scopes]:
            raise self._refusal(403, f"the token lacks {', '.join(missing)}", error="insufficient_scope")
        return principal

    def is_admitted(self, _: Principal) -> bool:
        return True

    def _refusal(self, status: int, message: str, **told: str) -> NotAdmitted:
        resource = urlsplit(self._resource())
        told["resource_metadata"] = f"{resource.scheme}://{resource.netloc}{METADATA_PATH}{resource.path.rstrip('/')}"
        if self._scopes:
            told["scope"] = " ".join(self._scopes)
        challenge = ", ".join(f'{name}="{value}"' for name, value in told.items())
        return NotAdmitted(status, message, {"www-authenticate": f"Bearer {challenge}"})

    async def _metadata(self, _: Request) -> JSONResponse:
        told: Mapping[str, object] = {
            "resource": self._resource(),
            "authorization_servers": [self._issuer],
            "bearer_methods_supported": ["header"],
            **({"scopes_supported": list(self._scopes)} if self._scopes else {}),
        }
        return JSONResponse(told)


def _check(settings: Settings) -> None:
    problems = [
        Problem(key, "expected an https address, or one of this machine, without a name or password in it")
        for key, value in (
            ("http.auth.issuer", settings.http_auth_issuer),
            ("http.auth.jwksUrl", settings.http_auth_jwks_url),
        )
        if value and not _is_safe(value)
    ]
    if settings.http_auth_audience and not _PLAIN.fullmatch(settings.http_auth_audience):
        problems.append(Problem("http.auth.audience", "expected an address or a name, without spaces and quotes"))
    if not all(map(_SCOPE.fullmatch, settings.http_auth_scopes)):
        problems.append(Problem("http.auth.scopes", "expected words without spaces and quotes"))
    if problems:
        raise ConfigurationError(problems)


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_near = parts.scheme == "http" and is_loopback_host(parts.hostname or "")
    except ValueError:
        return False
    is_plain = _PLAIN.fullmatch(url) is not None and parts.username is None and not parts.fragment
    return is_plain and bool(parts.hostname) and (parts.scheme == "https" or is_near)
