"""HTTP to peers: a look at a card and the certificate it came on, and clients that speak to one certificate only."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx2

from toolcrib.errors import PeerRefused, ServerConnectionError
from toolcrib.model.peer import PeerAddress
from toolcrib.peers.call_proof import RENEW_SECONDS, proof_for
from toolcrib.peers.certificate import any_certificate, only_certificate
from toolcrib.peers.identity import Identity
from toolcrib.peers.keepalive import keepalive_options
from toolcrib.peers.paths import CARD_PATH, PEERS_PATH
from toolcrib.upstream.http_client import request_timeout
from toolcrib.upstream.http_errors import translated


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found at an address: the certificate (DER), and a card, or None where it is still the one that is known."""

    certificate: bytes
    body: bytes | None


class PeerProof(httpx2.Auth):
    """Shows one server, on connections with one certificate, who calls; the proof is renewed before it is too old."""

    def __init__(self, identity: Identity, server_id: str, certificate_hash: str, now: Callable[[], float]) -> None:
        self._identity = identity
        self._server_id = server_id
        self._certificate_hash = certificate_hash
        self._now = now
        self._proof = ""
        self._made_at = 0.0

    def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:  # type: ignore[override]
        now = self._now()
        if not self._proof or not 0 <= now - self._made_at < RENEW_SECONDS:
            self._proof = proof_for(self._identity, self._server_id, self._certificate_hash, now)
            self._made_at = now
        request.headers["authorization"] = f"Bearer {self._proof}"
        yield request


def peer_client(
    context: ssl.SSLContext, *, user_agent: str, connect_seconds: float, proof: PeerProof | None = None
) -> httpx2.AsyncClient:
    """A client for one peer; the caller closes it. No proxy, no redirect: what was checked is what is connected to."""
    return httpx2.AsyncClient(
        transport=httpx2.AsyncHTTPTransport(verify=context, trust_env=False, socket_options=keepalive_options()),
        trust_env=False,
        follow_redirects=False,
        auth=proof,
        headers={"user-agent": user_agent},
        timeout=request_timeout(connect_seconds),
    )


class PeerHttp:
    """Single requests to peers, each on a connection of its own and within `seconds`; answers above `max_bytes` are refused."""

    def __init__(self, *, user_agent: str, max_bytes: Callable[[], int]) -> None:
        self._user_agent = user_agent
        self._max_bytes = max_bytes

    async def look(self, address: PeerAddress, etag: str, seconds: float) -> Looked:
        """The card at this address, unless it is still the one with that etag; nothing of it is believed yet."""
        headers = {"accept": "application/json", **({"if-none-match": f'"{etag}"'} if etag else {})}
        status, body, certificate = await self._ask(
            any_certificate(), address, "GET", CARD_PATH, seconds, headers=headers
        )
        if status == HTTPStatus.NOT_MODIFIED and etag:
            return Looked(certificate, None)
        if status != HTTPStatus.OK:
            raise ServerConnectionError(f"{address} gave no card: HTTP {status}", server=str(address), sent=True)
        return Looked(certificate, body)

    async def hand_over(
        self, address: PeerAddress, certificate: bytes, proof: PeerProof, card: bytes, seconds: float
    ) -> None:
        """Give a peer our card; raises PeerRefused where it does not want to know us."""
        status, _, _ = await self._ask(
            only_certificate(certificate),
            address,
            "POST",
            CARD_PATH,
            seconds,
            headers={"content-type": "application/json"},
            content=card,
            proof=proof,
        )
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise PeerRefused(f"{address} does not take our card (HTTP {status})", reason="refused")
        if status != HTTPStatus.OK:
            raise ServerConnectionError(f"{address} took no card: HTTP {status}", server=str(address), sent=True)

    async def introduced(
        self, address: PeerAddress, certificate: bytes, proof: PeerProof, seconds: float
    ) -> bytes | None:
        """The peers that this one knows, as it wrote them; nothing where it does not tell, None where it does not now."""
        status, body, _ = await self._ask(
            only_certificate(certificate), address, "GET", PEERS_PATH, seconds, proof=proof
        )
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return None
        return body if status == HTTPStatus.OK else b""

    async def _ask(
        self,
        context: ssl.SSLContext,
        address: PeerAddress,
        method: str,
        path: str,
        seconds: float,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        proof: PeerProof | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Status, body and the certificate of the connection."""
        url = httpx2.URL(f"https://{address}{path}")
        server = str(address)
        connected = _Connected()
        try:
            with translated(server, url):
                async with (
                    asyncio.timeout(seconds),
                    peer_client(context, user_agent=self._user_agent, connect_seconds=seconds, proof=proof) as client,
                    client.stream(
                        method, url, headers=dict(headers or {}), content=content, extensions={"trace": connected.trace}
                    ) as response,
                ):
                    certificate = _certificate_of(response, server)
                    return response.status_code, await self._body(response, server), certificate
        except TimeoutError:
            raise ServerConnectionError(f"{server} did not answer within {seconds:g} s", server=server) from None
        finally:
            await connected.close()

    async def _body(self, response: httpx2.Response, server: str) -> bytes:
        parts, size, most = [], 0, self._max_bytes()
        async for part in response.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > most:
                raise PeerRefused(f"{server} sent more than {most} bytes", reason="oversize")
        return b"".join(parts)


class _Connected:
    """The connections of a request; the client leaves one open whose handshake is broken off."""

    def __init__(self) -> None:
        self._streams: list[Any] = []

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._streams.append(info["return_value"])

    async def close(self) -> None:
        for stream in self._streams:
            await stream.aclose()


def _certificate_of(response: httpx2.Response, server: str) -> bytes:
    tls = response.extensions["network_stream"].get_extra_info("ssl_object")
    certificate = tls.getpeercert(binary_form=True) if tls is not None else None
    if not certificate:
        raise ServerConnectionError(f"{server} showed no certificate", server=server)
    return bytes(certificate)
