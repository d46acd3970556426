"""A sign-in as it is kept: where it holds, who gave it, and the tokens. No text of it shows a secret."""

from __future__ import annotations

import hashlib
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import msgspec

SecretsIn = Literal["file", "keyring"]
Grant = Literal["code", "device", "client_credentials"]

BY_SIGNATURE = "private_key_jwt"

# So long before it ends, or for the last tenth of a short life, a token is renewed while it is still used.
_EARLY_SECONDS = 60.0
_EARLY_SHARE = 0.1


class _Quiet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Values whose repr names none of them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<hidden>)"


class Tokens(_Quiet, frozen=True, kw_only=True, rename="camel"):
    """What an authorization server gave; times are unix seconds."""

    access: str
    refresh: str = ""
    given_at: float = 0.0
    expires_at: float | None = None
    scope: str = ""

    def is_expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def is_due(self, now: float) -> bool:
        """Whether it is time to renew it."""
        if self.expires_at is None:
            return False
        early = min(_EARLY_SECONDS, _EARLY_SHARE * (self.expires_at - self.given_at))
        return self.expires_at - early <= now


class Registration(_Quiet, frozen=True, kw_only=True, rename="camel"):
    """As whom we are known to an authorization server; `method` is how we prove it at its token endpoint."""

    id: str
    secret: str = ""
    method: str = "none"
    redirect: str = ""
    issuer: str = ""
    # For which kind of sign-in it was made; one that a person made by hand may be good for any.
    grant: Grant | None = None


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of an authorization server that are needed after a sign-in."""

    token: str
    revocation: str = ""


class SignIn(_Quiet, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One sign-in. Without tokens it has ended, and `ended_because` says why; the registration can be used again.

    `indicator` names the resource in requests for tokens (RFC 8707); it is empty where the server knows none.
    """

    resource: str
    endpoints: Endpoints
    registration: Registration | None
    tokens: Tokens | None
    account: str = ""
    server: str = ""
    issuer: str = ""
    indicator: str = ""
    grant: Grant = "code"
    signed_in_at: float = 0.0
    ended_because: str = ""
    secrets: SecretsIn = "file"
    v: int = 1

    @property
    def key(self) -> str:
        return record_key(self.resource, self.account)

    @property
    def is_renewable(self) -> bool:
        """Whether new tokens can be had without a person."""
        known = self.registration
        # The key of one that proves itself by a signature is not kept here: it is signed in anew.
        by_itself = self.grant == "client_credentials" and known is not None and known.method != BY_SIGNATURE
        return self.tokens is not None and (bool(self.tokens.refresh) or by_itself)

    @property
    def secret_values(self) -> tuple[str, ...]:
        """Every value that must not be shown."""
        tokens = (self.tokens.access, self.tokens.refresh) if self.tokens is not None else ()
        ours = (self.registration.secret,) if self.registration is not None else ()
        return tuple(value for value in (*tokens, *ours) if value)

    def ended(self, because: str, *, forget_registration: bool = False) -> SignIn:
        """The same without tokens."""
        kept = None if forget_registration else self.registration
        return msgspec.structs.replace(self, tokens=None, registration=kept, ended_because=because)


def canonical_resource(url: str) -> str:
    """The address of a server as sign-ins know it: without fragment, scheme and host in small letters."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), host, parts.path, parts.query, ""))


def record_key(resource: str, account: str) -> str:
    """What tells sign-ins apart: the server's address and the account on it."""
    return hashlib.sha256(f"{canonical_resource(resource)}\n{account}".encode()).hexdigest()[:20]
