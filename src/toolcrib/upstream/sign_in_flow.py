"""Signing in to a server: the SDK's provider finds out where and how, our own client sends what it wants to send.

Loaded only where somebody signs in: the SDK takes a second and many megabytes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from toolcrib.errors import SignInFailed
from toolcrib.model.clean_text import clean
from toolcrib.signin.addresses import AddressRefused
from toolcrib.signin.challenge import Challenge, joined_scopes
from toolcrib.signin.record import Endpoints, Grant, Registration, SignIn, Tokens
from toolcrib.upstream.http_errors import transport_error
from toolcrib.upstream.sign_in_http import SignInHttp

_MOST_CHARACTERS = 300
_ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "revocation_endpoint",
    "device_authorization_endpoint",
)
_METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


@dataclass(frozen=True, slots=True)
class SignInWish:
    """Where somebody signs in, as whom, and what for."""

    server: str
    resource: str
    account: str = ""
    grant: Grant = "code"
    scopes: str = ""
    client_name: str = "Toolcrib"
    client_metadata_url: str = ""
    redirect: str = ""
    # Who we are to the service already: registered by hand, or at a sign-in before.
    registration: Registration | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Person:
    """How a person is sent to a page, and what they bring back from it."""

    send_to: Callable[[str, str], Awaitable[None]]
    """(address, state)"""
    comes_back: Callable[[], Awaitable[dict[str, str]]]


class SignInFlow:
    """One sign-in, from a server's refusal to tokens."""

    def __init__(self, wish: SignInWish, http: SignInHttp, now: Callable[[], float]) -> None:
        self._wish = wish
        self._http = http
        self._now = now
        # It logs every failure with its traceback, and quotes answers of token endpoints; what matters is in our errors.
        logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)
        self.metadata: dict[str, Any] = {}

    async def run(self, headers: Mapping[str, str], person: Person) -> SignIn:
        """The sign-in, not kept yet; `headers` are those that the server's entry gives. Raises SignInFailed."""
        storage = _Storage(_as_known(self._wish.registration))
        provider = _Provider(
            self._wish.resource,
            self._client_metadata(),
            storage,
            redirect_handler=lambda url: self._send(person, url),
            callback_handler=lambda: self._received(person),
            client_metadata_url=self._wish.client_metadata_url or None,
        )
        try:
            await self._drive(provider, await self._http.challenge(headers))
        except (OAuthFlowError, ValidationError, ValueError, httpx2.InvalidURL) as problem:
            raise self._failed(problem) from problem
        except AddressRefused as problem:
            raise self._trouble("address", f"its metadata can't be used: {problem}") from problem
        except TimeoutError as problem:
            raise self._trouble("unavailable", "the service did not answer in time") from problem
        except httpx2.HTTPError as problem:
            url = httpx2.URL(self._wish.resource)
            told = transport_error("the sign-in service", _url_of(problem) or url, problem)
            raise self._trouble("unavailable", told.message, told.hint) from problem
        return self._record(provider, storage)

    async def _drive(self, provider: _Provider, refusal: Challenge) -> None:
        """Hand the refusal to the provider, and send what it asks for until it would try the server again."""
        request = httpx2.Request("POST", self._wish.resource, headers={"mcp-protocol-version": "2025-11-25"})
        refused = httpx2.Response(401, headers={"www-authenticate": self._asked_for(refusal)}, request=request)
        async with aclosing(provider.async_auth_flow(request)) as flow:
            await anext(flow)
            following = await flow.asend(refused)
            while following is not request:
                following = await flow.asend(await self._sent(following))

    def _asked_for(self, refusal: Challenge) -> str:
        """The refusal with the scopes that the person or the entry wants."""
        scopes = self._wish.scopes or refusal.scope
        parts = [f'resource_metadata="{refusal.resource_metadata}"'] if refusal.resource_metadata else []
        parts += [f'scope="{scopes}"'] if scopes else []
        return f"Bearer {', '.join(parts)}".strip()

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._http.send(request)
        if any(path in request.url.path for path in _METADATA_PATHS) and response.status_code == 200:
            await self._note_metadata(response)
        return response

    async def _note_metadata(self, response: httpx2.Response) -> None:
        """Keep what the service says of itself, once every address that may be used is found to be one of its kind."""
        try:
            found = json.loads(response.content)
        except (ValueError, RecursionError):
            return
        self.metadata = found if isinstance(found, dict) else {}
        for name in _ENDPOINTS:
            if self.metadata.get(name) is not None:
                await self._http.check(str(self.metadata[name]))

    async def _send(self, person: Person, url: str) -> None:
        if self.metadata and "S256" not in (self.metadata.get("code_challenge_methods_supported") or ()):
            raise self._trouble("no_pkce", "its service does not protect sign-ins against theft (PKCE with S256)")
        await self._http.check(url)
        await person.send_to(url, parse_qs(urlsplit(url).query)["state"][0])

    async def _received(self, person: Person) -> AuthorizationCodeResult:
        given = await person.comes_back()
        if "error" in given or "code" not in given:
            told = clean(given.get("error_description") or given.get("error") or "it gave no code")
            raise self._trouble("refused", f"the service did not agree: {told[:_MOST_CHARACTERS]}")
        return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))

    def _client_metadata(self) -> OAuthClientMetadata:
        return OAuthClientMetadata(client_name=self._wish.client_name, redirect_uris=[AnyUrl(self._wish.redirect)])

    def _record(self, provider: _Provider, storage: _Storage) -> SignIn:
        context = provider.context
        assert storage.tokens is not None
        known = storage.known
        includes_resource = context.should_include_resource_param(context.protocol_version)
        issuer = str(context.oauth_metadata.issuer) if context.oauth_metadata is not None else ""
        return SignIn(
            resource=self._wish.resource,
            account=self._wish.account,
            server=self._wish.server,
            issuer=issuer,
            indicator=context.get_resource_url() if includes_resource else "",
            endpoints=self._endpoints(provider),
            registration=None if known is None else _as_kept(known, self._wish.redirect),
            tokens=_tokens_of(storage.tokens, self._now()),
            grant=self._wish.grant,
            signed_in_at=self._now(),
        )

    def _endpoints(self, provider: _Provider) -> Endpoints:
        metadata = provider.context.oauth_metadata
        if metadata is None:
            return Endpoints(token=urljoin(self._wish.resource, "/token"))
        revocation = str(metadata.revocation_endpoint or "")
        return Endpoints(token=str(metadata.token_endpoint), revocation=revocation)

    def _failed(self, problem: Exception) -> SignInFailed:
        told = clean(str(problem))[:_MOST_CHARACTERS]
        if isinstance(problem, OAuthRegistrationError):
            hint = (
                "Register a client with the service yourself, with the redirect address "
                f"{self._wish.redirect}, and give the entry oauth.clientId, and oauth.callbackPort for that port."
            )
            return self._trouble("registration", f"the service registers no new clients: {told}", hint)
        reason = "token" if isinstance(problem, OAuthTokenError) else "metadata"
        return self._trouble(reason, told)

    def _trouble(self, reason: str, message: str, hint: str = "") -> SignInFailed:
        return SignInFailed(
            f"the sign-in to {self._wish.server} failed: {message}",
            server=self._wish.server,
            reason=reason,
            hint=hint,
        )


class _Provider(OAuthClientProvider):
    """The SDK's provider with what it leaves to chance settled."""

    async def _perform_authorization(self) -> httpx2.Request:
        known, metadata = self.context.client_info, self.context.oauth_metadata
        offered = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
        # A client that was registered by hand does not say how its secret is sent.
        if known is not None and known.client_secret and not known.token_endpoint_auth_method:
            is_basic = not offered or "client_secret_basic" in offered
            known.token_endpoint_auth_method = "client_secret_basic" if is_basic else "client_secret_post"
        return await super()._perform_authorization()


class _Storage:
    """What the provider keeps while it works; nothing is written before all of it is there."""

    def __init__(self, known: OAuthClientInformationFull | None) -> None:
        self.known = known
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.known

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.known = client_info


def _as_known(registration: Registration | None) -> OAuthClientInformationFull | None:
    if registration is None:
        return None
    return OAuthClientInformationFull(
        client_id=registration.id,
        client_secret=registration.secret or None,
        token_endpoint_auth_method=registration.method or None,
        redirect_uris=[AnyUrl(registration.redirect)] if registration.redirect else None,
        issuer=registration.issuer or None,
    )


def _as_kept(known: OAuthClientInformationFull, redirect: str) -> Registration:
    return Registration(
        id=known.client_id,
        secret=known.client_secret or "",
        method=known.token_endpoint_auth_method or "none",
        redirect=redirect,
        issuer=known.issuer or "",
    )


def _tokens_of(given: OAuthToken, now: float) -> Tokens:
    return Tokens(
        access=given.access_token,
        refresh=given.refresh_token or "",
        given_at=now,
        expires_at=now + given.expires_in if given.expires_in and given.expires_in > 0 else None,
        scope=joined_scopes(given.scope or ""),
    )


def _url_of(problem: httpx2.HTTPError) -> httpx2.URL | None:
    try:
        return problem.request.url
    except RuntimeError:
        return None
