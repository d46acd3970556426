"""What peers may ask over libp2p: our card, the exposed tools, and to run one; one line in, one line out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from toolcrib.engine.peer_calls import PeerCalls
from toolcrib.errors import RateLimited, ToolcribError
from toolcrib.gateway import Gateway
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, TOOL_PROTOCOL
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.model.call import ExecutionResult, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.model.peer import KnownPeer
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.peers.card_resource import CARD_RESOURCE, CARD_URI, NO_OTHER, card_content
from toolcrib.peers.exposure import exposed_definition
from toolcrib.queries.json_forms import failure_json
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

log = logging.getLogger(__name__)

ANSWER_SECONDS = 30.0
MOST_ANSWER_BYTES = 10 * 1024 * 1024
# How often cards may be left here: by one peer, and by all.
CARDS_OF_ONE = RateLimitConfig(1, 3)
CARDS_IN_ALL = RateLimitConfig(10, 20)

TakeCard = Callable[[str, bytes], Awaitable[None]]
"""(the id that the transport proved, a card): judge it, and remember whose it is; raises PeerRefused"""


class _Question(msgspec.Struct):
    method: str
    id: int | str | None = None
    params: dict[str, Any] | None = None


class _ToolQuestion(msgspec.Struct):
    name: str
    id: int | str | None = None
    arguments: dict[str, Any] | None = None


class PeerBridge:
    """Answers peers whose ids the transport has proved; only those that a person trusts learn or run anything."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        exposed: Callable[[], Mapping[str, VisibleTool]],
        card: Callable[[], bytes],
        peer: Callable[[str], KnownPeer | None],
        take_card: TakeCard,
        limiter: RateLimiter,
        calls: PeerCalls,
    ) -> None:
        self._gateway = gateway
        self._exposed = exposed
        self._card = card
        self._peer = peer
        self._take_card = take_card
        self._limiter = limiter
        self._calls = calls

    async def __call__(self, peer_id: str, protocol: str, body: bytes) -> bytes:
        """The line that answers this one."""
        if protocol == CARD_PROTOCOL:
            return await self._exchange(peer_id, body)
        id: int | str | None = None
        try:
            question = _read(protocol, body)
            id = question.id
            async with asyncio.timeout(ANSWER_SECONDS):
                result = await self._admitted(peer_id, question)
        except RpcError as refusal:
            return _line(id, error=refusal)
        except TimeoutError:
            return _line(id, error=RpcError(INTERNAL_ERROR, f"no result within {ANSWER_SECONDS:g} s"))
        except ToolcribError as problem:
            return _line(id, error=RpcError(INTERNAL_ERROR, f"{problem.code}: {problem.message}"))
        return _line(id, result)

    async def _exchange(self, peer_id: str, body: bytes) -> bytes:
        """Our card where none comes with the question; else it is judged, and taken."""
        if not body:
            return self._card()
        wait = await self._limiter.try_acquire(f"card of {peer_id}", CARDS_OF_ONE)
        wait = wait or await self._limiter.try_acquire("cards over libp2p", CARDS_IN_ALL)
        if wait:
            raise RateLimited("cards come too often", retry_after_seconds=wait)
        await self._take_card(peer_id, body)
        return b"{}"

    async def _admitted(self, peer_id: str, question: _Question) -> bytes:
        """The result, for a peer that is trusted and does not ask too often."""
        peer = self._peer(peer_id)
        if peer is None or not peer.is_trusted:
            raise RpcError(INTERNAL_ERROR, "PEER_NOT_TRUSTED: the person at this machine has not decided about you yet")
        if wait := await self._calls.enter(peer_id):
            raise RateLimited("too many requests of this peer", retry_after_seconds=wait)
        try:
            return await self._result(peer, question.method, question.params or {})
        finally:
            self._calls.leave(peer_id)

    async def _result(self, peer: KnownPeer, method: str, params: Mapping[str, Any]) -> bytes:
        match method:
            case "tools/list":
                tools = [exposed_definition(name, visible) for name, visible in self._exposed().items()]
                return msgspec.json.encode({"tools": tools})
            case "tools/call":
                return await self._call(peer, params)
            case "resources/list":
                return msgspec.json.encode({"resources": [CARD_RESOURCE]})
            case "resources/read":
                return self._read_resource(params)
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"there is no {method[:64]!r} here")

    def _read_resource(self, params: Mapping[str, Any]) -> bytes:
        if params.get("uri") != CARD_URI:
            raise RpcError(INVALID_PARAMS, NO_OTHER)
        return msgspec.json.encode({"contents": [card_content(self._card())]})

    async def _call(self, peer: KnownPeer, params: Mapping[str, Any]) -> bytes:
        name, arguments = params.get("name"), params.get("arguments") or {}
        visible = self._exposed().get(name) if isinstance(name, str) else None
        if visible is None:
            # The same words for a tool that is not there and one that is not for peers: who asks learns of neither.
            raise RpcError(INVALID_PARAMS, f"no such tool is offered to peers: {str(name)[:128]!r}")
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        caller = Caller(name=peer.server, face="peer", key=f"peer:{peer.peer_id}")
        raw = msgspec.json.encode(arguments)
        call = ToolCall(visible.tool.server, visible.tool.name, arguments, raw, caller)
        return _tool_result(await self._gateway.execute(call))


def _read(protocol: str, body: bytes) -> _Question:
    try:
        if protocol == TOOL_PROTOCOL:
            asked = msgspec.json.decode(body, type=_ToolQuestion)
            return _Question("tools/call", asked.id, {"name": asked.name, "arguments": asked.arguments or {}})
        if protocol == MCP_PROTOCOL:
            return msgspec.json.decode(body, type=_Question)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise RpcError(INVALID_PARAMS, f"the question can't be read: {problem}") from None
    raise RpcError(METHOD_NOT_FOUND, f"{protocol[:64]!r} is not spoken here")


def _tool_result(outcome: ExecutionResult) -> bytes:
    """The result as the server gave it; what went wrong on the way is told as an answer that failed."""
    if outcome.result is not None:
        return bytes(outcome.result.raw)
    failed = failure_json(outcome.error) if outcome.error is not None else {"success": False}
    text = msgspec.json.encode(failed).decode()
    return msgspec.json.encode({"content": [{"type": "text", "text": text}], "isError": True})


def _line(id: int | str | None, result: bytes = b"", *, error: RpcError | None = None) -> bytes:
    # In JSON a line end is only ever a blank between two words; within a text it is written in another way.
    line = result.replace(b"\n", b" ").replace(b"\r", b" ")
    if error is None and len(line) > MOST_ANSWER_BYTES:
        error = RpcError(INTERNAL_ERROR, f"the result is larger than {MOST_ANSWER_BYTES} bytes")
    if error is not None:
        return msgspec.json.encode({"id": id, "error": {"code": error.code, "message": error.message}})
    return b'{"id":%b,"result":%b}' % (msgspec.json.encode(id), line)
