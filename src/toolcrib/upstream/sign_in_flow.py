"""Signing in to a server: the SDK's provider finds out where and how, our own client sends what it wants to send.

Loaded only where somebody signs in: the SDK takes a second and many megabytes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl, ValidationError

from toolcrib.errors import SignInFailed
from toolcrib.model.clean_text import clean
from toolcrib.signin.addresses import AddressRefused
from toolcrib.signin.challenge import Challenge
from toolcrib.signin.record import Endpoints, Grant, Registration, SignIn, Tokens
from toolcrib.upstream.device_flow import DEVICE_GRANT, DeviceRequest, device_tokens
from toolcrib.upstream.http_errors import transport_error
from toolcrib.upstream.sdk_provider import (
    BrowserProvider,
    FlowStorage,
    KeyUnusable,
    Prepared,
    as_kept,
    as_known,
    by_signature,
    indicator_of,
    name_resource,
    tokens_of,
)
from toolcrib.upstream.sign_in_http import SignInHttp
from toolcrib.upstream.sign_in_wish import Person, SignInWish

_MOST_CHARACTERS = 300
_LATER = "Try again later."
# Nobody is sent there.
_UNUSED = "http://127.0.0.1/callback"
_ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "revocation_endpoint",
    "device_authorization_endpoint",
)
_METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


class SignInFlow:
    """One sign-in, from a server's refusal to tokens."""

    def __init__(self, wish: SignInWish, http: SignInHttp, now: Callable[[], float]) -> None:
        self._wish = wish
        self._http = http
        self._now = now
        # It logs every failure with its traceback, and quotes answers of token endpoints; what matters is in our errors.
        logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)
        self.metadata: dict[str, Any] = {}

    async def run(self, headers: Mapping[str, str], person: Person | None) -> SignIn:
        """The sign-in, not kept yet; `headers` are those that the server's entry gives. Raises SignInFailed.

        Client credentials need no person.
        """
        storage = FlowStorage(as_known(self._wish.registration))
        provider = self._provider = self._new_provider(storage, person)
        if self._wish.indicator:
            name_resource(provider, self._wish.indicator)
        if not await self._driven(provider, headers):
            assert person is not None
            return await self._by_device(provider, storage, person)
        assert storage.tokens is not None
        return self._record(provider, storage, tokens_of(storage.tokens, self._now()), self._wish.grant)

    async def taken_over(self, headers: Mapping[str, str], tokens: Tokens) -> SignIn:
        """A sign-in with tokens that another program was given for the registration in the wish; nobody is asked."""
        storage = FlowStorage(as_known(self._wish.registration))
        metadata = OAuthClientMetadata(client_name=self._wish.client_name, redirect_uris=[AnyUrl(_UNUSED)])
        provider = self._provider = BrowserProvider(self._wish.resource, metadata, storage)
        provider.only_prepares = True
        await self._driven(provider, headers)
        return self._record(provider, storage, tokens, "code")

    async def _driven(self, provider: OAuthClientProvider, headers: Mapping[str, str]) -> bool:
        """Whether the provider came to its end; False where it has only prepared everything. Raises SignInFailed."""
        try:
            await self._drive(provider, await self._http.challenge(headers))
        except Prepared:
            return False
        except KeyUnusable as problem:
            told = "its entry has a privateKey that can't be used with this signingAlgorithm"
            raise self._trouble("key", told) from problem
        except (OAuthFlowError, ValidationError, ValueError, httpx2.InvalidURL) as problem:
            raise self._failed(problem) from problem
        except (AddressRefused, TimeoutError, httpx2.HTTPError) as problem:
            raise self._not_reached(problem) from problem
        return True

    def _new_provider(self, storage: FlowStorage, person: Person | None) -> OAuthClientProvider:
        wish = self._wish
        if person is None and wish.private_key:
            return by_signature(wish, storage)
        if person is None:
            assert wish.registration is not None
            return ClientCredentialsOAuthProvider(
                wish.resource,
                storage,
                client_id=wish.registration.id,
                client_secret=wish.registration.secret,
                issuer=wish.registration.issuer,
            )
        return BrowserProvider(
            wish.resource,
            OAuthClientMetadata(client_name=wish.client_name, redirect_uris=[AnyUrl(wish.redirect)]),
            storage,
            redirect_handler=lambda url: self._send(person, url),
            callback_handler=lambda: self._received(person),
            client_metadata_url=wish.client_metadata_url or None,
        )

    @property
    def _uses_device(self) -> bool:
        """Whether the service offers what is wanted: a code to type in elsewhere."""
        is_wanted = self._wish.grant == "device" or (self._wish.grant == "code" and self._wish.prefers_device)
        return is_wanted and isinstance(self.metadata.get("device_authorization_endpoint"), str)

    async def _by_device(self, provider: OAuthClientProvider, storage: FlowStorage, person: Person) -> SignIn:
        """Go on from where the provider has found and registered everything."""
        known, scope = provider.context.client_info, provider.context.client_metadata.scope or ""
        assert known is not None
        request = DeviceRequest(
            server=self._wish.server,
            device_endpoint=str(self.metadata["device_authorization_endpoint"]),
            token_endpoint=self._endpoints(provider).token,
            registration=as_kept(known, "", "device"),
            scope=scope,
            indicator=indicator_of(provider),
        )
        try:
            tokens = await device_tokens(
                request, self._http, person.show_code, seconds=self._wish.seconds, now=self._now
            )
        except (AddressRefused, TimeoutError, httpx2.HTTPError) as problem:
            raise self._not_reached(problem) from problem
        if not tokens.scope:
            tokens = msgspec.structs.replace(tokens, scope=scope)
        return self._record(provider, storage, tokens, "device")

    async def _drive(self, provider: OAuthClientProvider, refusal: Challenge) -> None:
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
        is_metadata = any(path in request.url.path for path in _METADATA_PATHS)
        if (is_metadata or request.method == "POST") and _is_outage(response.status_code):
            # The provider would go on without what it could not get, and fail for another reason in the end.
            raise self._trouble("unavailable", f"{request.url.host} answered {response.status_code}", _LATER)
        if is_metadata and response.status_code == 200:
            await self._note_metadata(response)
        return response

    async def _note_metadata(self, response: httpx2.Response) -> None:
        """Keep what the service says of itself, once every address that may be used is found to be one of its kind."""
        try:
            found = json.loads(response.content)
        except (ValueError, RecursionError):
            return
        self.metadata = found if isinstance(found, dict) else {}
        self._prepare_for_device()
        for name in _ENDPOINTS:
            if self.metadata.get(name) is not None:
                await self._http.check(str(self.metadata[name]))

    def _prepare_for_device(self) -> None:
        """Register for the kind of sign-in that comes: a client of before may be good for another kind only."""
        if self._wish.grant == "device" and not self._uses_device:
            raise self._trouble("no_device", "its service offers no sign-in with a code (`grant: device`)")
        if not self._uses_device or not isinstance(self._provider, BrowserProvider):
            return
        self._provider.only_prepares = True
        context = self._provider.context
        context.client_metadata.grant_types = [DEVICE_GRANT, "refresh_token"]
        if self._wish.registration is not None and self._wish.registration.grant not in (None, "device"):
            context.client_info = None

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

    def _record(self, provider: OAuthClientProvider, storage: FlowStorage, tokens: Tokens, grant: Grant) -> SignIn:
        context = provider.context
        known = context.client_info or storage.known
        issuer = str(context.oauth_metadata.issuer) if context.oauth_metadata is not None else ""
        return SignIn(
            resource=self._wish.resource,
            account=self._wish.account,
            server=self._wish.server,
            issuer=issuer,
            indicator=indicator_of(provider),
            endpoints=self._endpoints(provider),
            registration=None if known is None else self._registration(known, grant),
            tokens=tokens,
            grant=grant,
            signed_in_at=self._now(),
        )

    def _registration(self, known: OAuthClientInformationFull, grant: Grant) -> Registration:
        is_by_hand = self._wish.registration is not None and self._wish.registration.grant is None
        redirect = str(known.redirect_uris[0]) if known.redirect_uris else ""
        return as_kept(known, self._wish.redirect or redirect, None if is_by_hand else grant)

    def _endpoints(self, provider: OAuthClientProvider) -> Endpoints:
        metadata = provider.context.oauth_metadata
        if metadata is None:
            return Endpoints(token=urljoin(self._wish.resource, "/token"))
        revocation = str(metadata.revocation_endpoint or "")
        return Endpoints(token=str(metadata.token_endpoint), revocation=revocation)

    def _not_reached(self, problem: Exception) -> SignInFailed:
        if isinstance(problem, AddressRefused):
            return self._trouble("address", f"its metadata can't be used: {problem}")
        if not isinstance(problem, httpx2.HTTPError):
            return self._trouble("unavailable", "the service did not answer in time")
        url = _url_of(problem) or httpx2.URL(self._wish.resource)
        told = transport_error("the sign-in service", url, problem)
        return self._trouble("unavailable", told.message, told.hint)

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


def _is_outage(status: int) -> bool:
    return status >= 500 or status == 429


def _url_of(problem: httpx2.HTTPError) -> httpx2.URL | None:
    try:
        return problem.request.url
    except RuntimeError:
        return None
