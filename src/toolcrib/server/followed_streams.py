"""The two ways of a connection as the SDK reads and writes them, watched for requests and their answers."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from toolcrib.wire.jsonrpc import RequestId

Note = Callable[[RequestId], None]


class _Followed:
    def __init__(self, stream: Any, note: Note) -> None:
        self._stream = stream
        self._note = note

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class FollowedInput(_Followed):
    """What a client sends; `note` gets the id of each request."""

    @property
    def last_context(self) -> Context | None:
        """Of the HTTP request that brought the last message: the SDK runs its handler in it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._stream.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest):
            self._note(item.message.id)
        return item

    def __aiter__(self) -> FollowedInput:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class FollowedOutput(_Followed):
    """What a client is sent; `note` gets the id of each request that was answered."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._stream.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
            self._note(item.message.id)
