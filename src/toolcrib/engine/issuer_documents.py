"""What an issuer of tokens publishes about itself, read from where it says that it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from toolcrib.signin.addresses import AddressRefused
from toolcrib.upstream.sign_in_http import SignInHttp

_CONNECT_SECONDS = 5.0


class IssuerDocuments:
    """Reads the keys of an issuer, from `jwks_url` or else from where its metadata says that they are.

    The metadata may name only such an address as a sign-in at the issuer could use; the two that it is made with are
    the person's own words.
    """

    def __init__(self, issuer: str, jwks_url: str = "") -> None:
        self._issuer = issuer
        self._jwks_url = jwks_url

    async def keys(self) -> list[Any]:
        """The keys as they are published; raises ConnectionError with the reason why they can't be had."""
        async with SignInHttp(self._jwks_url or self._issuer, connect_seconds=_CONNECT_SECONDS) as http:
            url = self._jwks_url or await self._found(http)
            keys = (await _document(http, url)).get("keys")
        if not isinstance(keys, list):
            raise ConnectionError(f"{_host(url)} answered with something that is not a set of keys")
        return keys

    async def _found(self, http: SignInHttp) -> str:
        reasons: list[str] = []
        for url in _metadata_addresses(self._issuer):
            try:
                metadata = await _document(http, url)
            except ConnectionError as problem:
                reasons.append(str(problem))
                continue
            if metadata.get("issuer") != self._issuer:
                raise ConnectionError(f"the metadata at {_host(url)} is of another issuer than {self._issuer}")
            if isinstance(jwks_url := metadata.get("jwks_uri"), str):
                return jwks_url
            reasons.append(f"the metadata at {_host(url)} names no keys")
        raise ConnectionError("; ".join(dict.fromkeys(reasons)))


async def _document(http: SignInHttp, url: str) -> dict[str, Any]:
    try:
        answer = await http.get(url)
        if answer.status_code != 200:
            raise ConnectionError(f"{_host(url)} answered {answer.status_code}")
        return msgspec.json.decode(answer.content, type=dict[str, Any])
    except AddressRefused as refusal:
        raise ConnectionError(str(refusal)) from None
    except TimeoutError:
        raise ConnectionError(f"{_host(url)} did not answer in time") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ConnectionError(f"{_host(url)} answered with something that is not JSON") from None
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, ValueError) as problem:
        raise ConnectionError(f"{_host(url)} can't be read: {problem}") from None


def _metadata_addresses(issuer: str) -> Iterator[str]:
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _host(url: str) -> str:
    return urlsplit(url).hostname or "an address"
