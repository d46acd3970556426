"""Pages about peers beside the MCP endpoint, for programs of the person on this machine; other machines never see them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolcrib.errors import PeerNotFound, StoreUnavailable, ToolcribError
from toolcrib.gateway import Gateway
from toolcrib.model.advice import PEERS_OFF
from toolcrib.model.call import ExecutionError, ExecutionResult
from toolcrib.model.caller import Caller
from toolcrib.model.peer import AgentCard, KnownPeer
from toolcrib.peers.card_members import card_members
from toolcrib.peers.paths import CARD_PATHS
from toolcrib.peers.store import PeerStore
from toolcrib.queries.json_forms import failure_json
from toolcrib.server.bounded_body import bounded_body

_CALLER = Caller(name="p2p page", face="http", key="http:p2p page")
_NOT_HERE = "This gateway does not speak to peers itself; another one of yours does, or peers.enabled is new."
_NOT_TRUSTED = "PEER_NOT_TRUSTED"

OpenStore = Callable[[], AbstractContextManager[PeerStore]]
"""The peers that are written down; used in a thread, and may raise StoreUnavailable."""


class SignedCard(Protocol):
    """A card, and the same as it is sent."""

    @property
    def card(self) -> AgentCard: ...

    @property
    def body(self) -> bytes: ...


class OwnPeer(Protocol):
    """Who we are to peers, while we speak to them."""

    @property
    def peer_id(self) -> str: ...

    @property
    def protocols(self) -> Sequence[str]:
        """What we speak, such as `mcp`, and `/praxis/mcp/1.0.0` where libp2p runs."""

    @property
    def transports(self) -> Sequence[str]:
        """By which ways we are reached, such as `https`."""

    def addresses(self) -> Sequence[str]:
        """Where peers reach us; none where they can't."""

    def card(self) -> SignedCard:
        """Our card, signed a moment ago."""


class _ToolRequest(msgspec.Struct):
    peer_id: str
    tool_name: str
    args: dict[str, Any] = {}


class PeerPages:
    """What is known of peers, and their tools by the ids of the peers."""

    def __init__(
        self,
        gateway: Gateway,
        store: OpenStore,
        own: Callable[[], OwnPeer | None],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._gateway = gateway
        self._store = store
        self._own = own
        self._now = now

    def routes(self) -> list[Route]:
        pages: Mapping[str, tuple[str, Callable[[Request], Awaitable[Response]]]] = {
            "/peers": ("GET", self._peers),
            "/p2p/cards": ("GET", self._cards),
            "/p2p/info": ("GET", self._info),
            "/p2p/tool": ("POST", self._tool),
            **dict.fromkeys(CARD_PATHS, ("GET", self._card)),
        }
        return [Route(path, self._guarded(page), methods=[method]) for path, (method, page) in pages.items()]

    def _guarded(self, page: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """The page, where there are peers at all."""

        async def answer(request: Request) -> Response:
            if not self._gateway.settings.peers_enabled:
                return _refusal(404, "PEERS_OFF", PEERS_OFF)
            try:
                return await page(request)
            except StoreUnavailable as trouble:
                return _refusal(503, trouble.code, trouble.message)
            except ClientDisconnect:
                return Response(status_code=400)

        return answer

    async def _peers(self, _: Request) -> Response:
        return JSONResponse([self._shown(peer) for peer in await asyncio.to_thread(self._wanted)])

    async def _cards(self, _: Request) -> Response:
        return Response(await asyncio.to_thread(self._cards_json), media_type="application/json")

    async def _info(self, _: Request) -> Response:
        own = self._own()
        if own is None:
            return _refusal(404, "PEERS_NOT_HERE", _NOT_HERE)
        return JSONResponse(
            {
                "peerId": own.peer_id,
                "name": own.card().card.name,
                "addresses": list(own.addresses()),
                "protocols": list(own.protocols),
                "transports": list(own.transports),
            }
        )

    async def _card(self, _: Request) -> Response:
        own = self._own()
        if own is None:
            return _refusal(404, "PEERS_NOT_HERE", _NOT_HERE)
        return Response(own.card().body, media_type="application/json")

    async def _tool(self, request: Request) -> Response:
        body = await bounded_body(request, self._gateway.settings.max_http_body_bytes)
        if body is None:
            return _refusal(413, "BODY_TOO_LARGE", "the body is larger than maxHttpBodyBytes")
        try:
            asked = msgspec.json.decode(body, type=_ToolRequest)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            return _refusal(400, "VALIDATION_ERROR", f"expected peer_id, tool_name and args as JSON: {problem}")
        peer = await asyncio.to_thread(self._peer, asked.peer_id)
        if peer is None or peer.trust == "blocked":
            unknown = PeerNotFound("no peer of that id is known", hint="GET /peers lists them.")
            return _failed(404, unknown, asked)
        if not peer.is_trusted:
            return JSONResponse(failure_json(_untrusted(peer, asked.tool_name)), 403)
        outcome = await self._gateway.execute_tool(peer.server, asked.tool_name, asked.args, caller=self._caller())
        return JSONResponse(_outcome_json(outcome))

    def _caller(self) -> Caller:
        """Whoever asks here; a profile that holds for all clients holds for them too."""
        return replace(_CALLER, rights=self._gateway.rights())

    def _wanted(self) -> list[KnownPeer]:
        """Everybody but those whom the person wants to know nothing of."""
        with self._store() as store:
            return [peer for peer in store.peers() if peer.trust != "blocked"]

    def _cards_json(self) -> bytes:
        """All cards, one after the other: they may be many, and large."""
        with self._store() as store:
            whole = (store.peer(peer.peer_id) for peer in store.peers() if peer.trust != "blocked")
            shown = (
                b"%b:%b" % (msgspec.json.encode(peer.peer_id), msgspec.json.encode(card_members(peer.card)))
                for peer in whole
                if peer is not None and peer.card is not None
            )
            return b"{%b}" % b",".join(shown)

    def _peer(self, peer_id: str) -> KnownPeer | None:
        with self._store() as store:
            return store.peer(peer_id)

    def _shown(self, peer: KnownPeer) -> dict[str, Any]:
        is_stale = peer.is_stale(self._now(), self._gateway.settings.peers_stale_after_seconds)
        return {
            "id": peer.peer_id,
            "connected": not is_stale and peer.away_since is None,
            "foundAt": peer.found_at,
            "lastSeen": peer.seen_at,
        }


def _untrusted(peer: KnownPeer, tool: str) -> ExecutionError:
    hint = f"A person has to agree first: toolcrib peers trust {peer.server}"
    return ExecutionError(_NOT_TRUSTED, f"nobody has said that {peer.server} is trusted", peer.server, tool, hint)


def _failed(status: int, error: ToolcribError, asked: _ToolRequest) -> JSONResponse:
    return JSONResponse(failure_json(ExecutionError.of(error, asked.peer_id, asked.tool_name)), status)


def _outcome_json(outcome: ExecutionResult) -> dict[str, Any]:
    if outcome.error is not None:
        return failure_json(outcome.error)
    return {"success": True, "result": outcome.value}


def _refusal(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": code, "message": message}, status)
