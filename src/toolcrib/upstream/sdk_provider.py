"""The SDK's provider as we use it, and its values as we keep them."""

from __future__ import annotations

import httpx2
from jwt.exceptions import PyJWTError
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import PrivateKeyJWTOAuthProvider, SignedJWTParameters
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from toolcrib.signin.challenge import joined_scopes
from toolcrib.signin.judge import expiry
from toolcrib.signin.record import Grant, Registration, Tokens
from toolcrib.upstream.sign_in_wish import SignInWish


class Prepared(Exception):
    """Everything is found and registered; the rest is not done in a browser on this machine."""


class KeyUnusable(Exception):
    """Nothing can be signed with the key and the algorithm that an entry names."""


class BrowserProvider(OAuthClientProvider):
    """The SDK's provider with what it leaves to chance settled."""

    only_prepares = False

    async def _perform_authorization(self) -> httpx2.Request:
        known, metadata = self.context.client_info, self.context.oauth_metadata
        offered = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
        # A client that was registered by hand does not say how its secret is sent.
        if known is not None and known.client_secret and not known.token_endpoint_auth_method:
            is_basic = not offered or "client_secret_basic" in offered
            known.token_endpoint_auth_method = "client_secret_basic" if is_basic else "client_secret_post"
        if self.only_prepares:
            raise Prepared
        return await super()._perform_authorization()


class FlowStorage:
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


def as_known(registration: Registration | None) -> OAuthClientInformationFull | None:
    if registration is None:
        return None
    return OAuthClientInformationFull(
        client_id=registration.id,
        client_secret=registration.secret or None,
        token_endpoint_auth_method=registration.method or None,
        redirect_uris=[AnyUrl(registration.redirect)] if registration.redirect else None,
        issuer=registration.issuer or None,
    )


def name_resource(provider: OAuthClientProvider, resource: str) -> None:
    """Have requests for tokens name this resource, whatever the server calls itself."""
    context = provider.context
    context.get_resource_url = lambda: resource  # type: ignore[method-assign]
    context.should_include_resource_param = lambda *_: True  # type: ignore[method-assign]


def by_signature(wish: SignInWish, storage: FlowStorage) -> OAuthClientProvider:
    """A provider that proves who we are with a signature (RFC 7523), without a person."""
    assert wish.registration is not None
    us = wish.registration.id
    signed = SignedJWTParameters(
        issuer=us, subject=us, signing_key=wish.private_key, signing_algorithm=wish.signing_algorithm
    )
    sign = signed.create_assertion_provider()

    async def proof(audience: str) -> str:
        try:
            return await sign(audience)
        except (PyJWTError, NotImplementedError, TypeError, ValueError) as problem:
            raise KeyUnusable from problem

    return PrivateKeyJWTOAuthProvider(wish.resource, storage, us, proof, issuer=wish.registration.issuer)


def indicator_of(provider: OAuthClientProvider) -> str:
    """The resource that requests for tokens name, where they do."""
    context = provider.context
    return context.get_resource_url() if context.should_include_resource_param(context.protocol_version) else ""


def as_kept(known: OAuthClientInformationFull, redirect: str, grant: Grant | None) -> Registration:
    return Registration(
        id=known.client_id,
        secret=known.client_secret or "",
        method=known.token_endpoint_auth_method or "none",
        redirect=redirect,
        issuer=known.issuer or "",
        grant=grant,
    )


def tokens_of(given: OAuthToken, now: float) -> Tokens:
    return Tokens(
        access=given.access_token,
        refresh=given.refresh_token or "",
        given_at=now,
        expires_at=expiry(given.expires_in, now),
        scope=joined_scopes(given.scope or ""),
    )
