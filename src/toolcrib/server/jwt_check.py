"""Access tokens that an issuer signed: whether one is good, and for whom it speaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt

from toolcrib.server.admission import Principal
from toolcrib.server.key_set import KeySet

LEEWAY_SECONDS = 60
MOST_KEYS = 100
MOST_CHARACTERS = 16_384
# By kind of key, and for curves by their names. None with a shared secret: whoever can read our keys could sign then.
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",), "Ed25519": ("EdDSA",)}
_REASONS: Mapping[type[jwt.PyJWTError], str] = {
    jwt.ExpiredSignatureError: "the token has expired",
    jwt.ImmatureSignatureError: "the token is not valid yet",
    jwt.InvalidAudienceError: "the token is for somebody else",
    jwt.InvalidIssuerError: "the token is of another issuer",
}


class TokenRefused(Exception):
    """A token that is not good; says why, without anything of the token."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that signatures are checked with, and the algorithms that it may be used with."""

    id: str | None
    key: Any
    algorithms: tuple[str, ...]


def public_keys(documents: Iterable[Any]) -> list[PublicKey]:
    """The keys of a JSON Web Key Set that can be used; others in it are passed over."""
    found = (_public_key(document) for document in list(documents)[:MOST_KEYS] if isinstance(document, dict))
    return [key for key in found if key is not None]


def _public_key(document: dict[str, Any]) -> PublicKey | None:
    kind, id = document.get("kty"), document.get("kid")
    fitting = _RSA if kind == "RSA" else _CURVES.get(str(document.get("crv")), ()) if kind in ("EC", "OKP") else ()
    stated = document.get("alg")
    algorithms = tuple(name for name in fitting if stated in (None, name))
    if not algorithms or document.get("use", "sig") != "sig" or not isinstance(id, str | None):
        return None
    try:
        return PublicKey(id, jwt.PyJWK(document, algorithm=algorithms[0]).key, algorithms)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None


class TokenCheck:
    """Checks tokens of one issuer for one audience."""

    def __init__(self, keys: KeySet[PublicKey], issuer: str, audience: Callable[[], str]) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience

    async def __call__(self, token: str) -> Principal:
        """Whom a token speaks for; raises TokenRefused or KeysUnavailable."""
        if len(token) > MOST_CHARACTERS:
            raise TokenRefused("the token is too long")
        try:
            key = await self._keys.find(_key_id(token))
            if key is None:
                raise TokenRefused("the token is signed with a key that its issuer does not have")
            return self._principal(self._claims(token, key))
        except (jwt.PyJWTError, ValueError) as problem:
            raise TokenRefused(_REASONS.get(type(problem), "the token can't be verified")) from None  # type: ignore[arg-type]

    def _claims(self, token: str, key: PublicKey) -> dict[str, Any]:
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=key.algorithms,
            audience=self._audience(),
            issuer=self._issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
        )
        return claims

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        client = _text(claims.get("client_id")) or _text(claims.get("azp"))
        subject = _text(claims.get("sub")) or client
        if not subject:
            raise TokenRefused("the token does not say whose it is")
        return Principal(self._issuer, subject, client, frozenset(_scopes(claims)))


def _key_id(token: str) -> str | None:
    id = jwt.get_unverified_header(token).get("kid")
    return id if isinstance(id, str) else None


def _scopes(claims: Mapping[str, Any]) -> Sequence[str]:
    """In one text as the standard wants it, or in a list as some issuers write it."""
    given = claims.get("scope", claims.get("scp"))
    if isinstance(given, str):
        return given.split()
    return [scope for scope in given if isinstance(scope, str)] if isinstance(given, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
