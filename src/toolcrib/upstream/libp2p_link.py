"""A link to a peer over libp2p, where each question is a line of its own; there is no session, so the handshake is ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from toolcrib.errors import ServerConnectionError
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, Json, RpcError, on_one_line
from toolcrib.wire.protocol import LATEST_HANDSHAKE_VERSION

# What the bridge on the other side answers.
METHODS = frozenset({"tools/list", "tools/call", "resources/list", "resources/read"})
ANSWER_SECONDS = 30.0

Ask = Callable[[bytes, float], Awaitable[bytes]]
"""(a line of JSON, how long it may take): the peer's line; raises ServerConnectionError"""


class _Error(msgspec.Struct):
    code: int
    message: str = ""


class _Answer(msgspec.Struct):
    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: _Error | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class Libp2pLink:
    """Fulfils `Link`. A question that fails to reach the peer ends the link, so that another way is looked for."""

    attributes = True

    def __init__(self, server: str, ask: Ask, *, seconds: float = ANSWER_SECONDS) -> None:
        self._server = server
        self._ask = ask
        self._seconds = seconds
        self._gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> Json:  # noqa: ARG002
        if method == "initialize":
            return self._introduction()
        if method not in METHODS:
            raise RpcError(METHOD_NOT_FOUND, f"{method} is not spoken over libp2p")
        question = b'{"id":%d,"method":%b,"params":%b}' % (id, msgspec.json.encode(method), params)
        try:
            line = await self._ask(on_one_line(question), self._seconds)
        except ServerConnectionError as problem:
            self._end(problem.message)
            raise ServerConnectionError(problem.message, server=self._server, sent=problem.sent) from problem
        return self._result(id, line)

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:
        """Nothing is told to the other side: it keeps no session."""

    async def wait_closed(self) -> str:
        return await asyncio.shield(self._gone)

    async def close(self) -> None:
        self._end("the connection was closed")

    def _introduction(self) -> bytes:
        info = {"name": self._server, "version": ""}
        offered: Mapping[str, Mapping[str, object]] = {"tools": {}, "resources": {}}
        answer = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": offered, "serverInfo": info}
        return msgspec.json.encode(answer)

    def _result(self, id: int, line: bytes) -> bytes:
        try:
            answer = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ServerConnectionError(
                f"{self._server} answered what can't be read", server=self._server, sent=True
            ) from None
        if answer.error is not None:
            raise RpcError(answer.error.code, answer.error.message)
        if answer.id != id or not bytes(answer.result):
            raise ServerConnectionError(f"{self._server} answered another question", server=self._server, sent=True)
        return bytes(answer.result)

    def _end(self, reason: str) -> None:
        if not self._gone.done():
            self._gone.set_result(reason)
