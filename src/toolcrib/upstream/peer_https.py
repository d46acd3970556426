"""A link to a peer over HTTPS: to the address where it was last met, and to its own certificate only."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from weakref import WeakSet

import httpx2

from toolcrib.errors import AnswerTooLarge, AuthenticationFailed, PeerRefused, ServerConnectionError
from toolcrib.model.peer import KnownPeer, PeerAddress
from toolcrib.peers.certificate import certificate_hash, only_certificate
from toolcrib.peers.identity import Identity
from toolcrib.peers.paths import CARD_PATH
from toolcrib.upstream.http_errors import translated
from toolcrib.upstream.link import LinkEars, TransportLimits
from toolcrib.upstream.peer_http import PeerProof, peer_client
from toolcrib.upstream.streamable_http import StreamableHttpLink
from toolcrib.wire.jsonrpc import Json


class PeerHttps:
    """Opens links to peers that were met over HTTPS."""

    def __init__(
        self,
        identity: Identity,
        *,
        user_agent: str,
        connect_seconds: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._identity = identity
        self._user_agent = user_agent
        self._connect_seconds = connect_seconds
        self._now = now
        self._links: WeakSet[PeerHttpLink] = WeakSet()

    def moved(self, peer_id: str, address: PeerAddress) -> None:
        """A peer is at this address now: links to it that lead elsewhere are over."""
        for link in list(self._links):
            if link.peer_id == peer_id and link.address != address:
                link.lose(f"the peer has moved to {address}")

    async def open_at(
        self,
        server: str,
        peer: KnownPeer,
        address: PeerAddress,
        ears: LinkEars,
        limits: TransportLimits,
    ) -> PeerHttpLink:
        """Raises ServerConnectionError where nobody answers, and PeerRefused where somebody else does."""
        path = peer.card.path if peer.card is not None else "/mcp"
        proof = PeerProof(self._identity, peer.peer_id, certificate_hash(peer.certificate), self._now)
        client = peer_client(
            only_certificate(peer.certificate),
            user_agent=self._user_agent,
            connect_seconds=self._connect_seconds(),
            proof=proof,
        )
        try:
            await _try_connection(client, server, address)
            link = await StreamableHttpLink.open(
                server,
                f"https://{address}{path}",
                {},
                client=client,
                ears=ears,
                max_body_bytes=limits.max_body_bytes,
            )
        except BaseException:
            await client.aclose()
            raise
        opened = PeerHttpLink(link, client, peer.peer_id, address)
        self._links.add(opened)
        return opened


class PeerHttpLink:
    """A link with a client of its own, which is closed with it; over once the peer can't be reached where it was."""

    def __init__(
        self, link: StreamableHttpLink, client: httpx2.AsyncClient, peer_id: str, address: PeerAddress
    ) -> None:
        self._link = link
        self._client = client
        self.attributes = link.attributes
        self.peer_id = peer_id
        self.address = address
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> Json:
        with self._noticing():
            return await self._link.request(id, method, params, headers)

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:
        with self._noticing():
            await self._link.notify(method, params, headers)

    async def wait_closed(self) -> str:
        closing = asyncio.create_task(self._link.wait_closed())
        try:
            done, _ = await asyncio.wait({closing, self._lost}, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            closing.cancel()

    async def close(self) -> None:
        try:
            await self._link.close()
        finally:
            self.lose("the connection was closed")
            await self._client.aclose()

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except AuthenticationFailed as refusal:
            raise _in_words_of_peers(refusal) from refusal
        except AnswerTooLarge:
            raise
        except ServerConnectionError as problem:
            self.lose(problem.message)  # it may be somewhere else by now, which is looked up for the next link
            raise

    def lose(self, reason: str) -> None:
        """It is of no use any more, for this reason."""
        if not self._lost.done():
            self._lost.set_result(reason)


def _in_words_of_peers(refusal: AuthenticationFailed) -> AuthenticationFailed:
    """There is no token that a person could renew."""
    if refusal.details.get("status") == HTTPStatus.FORBIDDEN:
        words = f"{refusal.server} does not trust this machine yet"
        hint = "The person there has to agree, with `toolcrib peers trust`; then try again."
    else:
        words = f"{refusal.server} does not believe who we are"
        hint = "Compare the clocks of both machines; they may be five minutes apart."
    return AuthenticationFailed(words, server=refusal.server, hint=hint)


async def _try_connection(client: httpx2.AsyncClient, server: str, address: PeerAddress) -> None:
    """Connect, so that another address can be tried where nobody answers; a certificate of somebody else is told apart."""
    url = httpx2.URL(f"https://{address}{CARD_PATH}")
    try:
        with translated(server, url):
            await client.head(url)
    except ServerConnectionError as problem:
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(problem)):
            raise PeerRefused(
                f"{server}: whoever answers at {address} has another certificate than the peer that is trusted",
                reason="certificate",
                hint="`toolcrib peers show` says more. If the peer's files were deleted, forget it and trust it anew.",
            ) from problem
        raise


def _causes(problem: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    following: BaseException | None = problem
    while following is not None and following not in found:
        found.append(following)
        following = following.__cause__ or following.__context__
    return found
