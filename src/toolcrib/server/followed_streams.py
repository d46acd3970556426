"""The two ways of a connection as the SDK reads and writes them, watched for requests and their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from toolcrib.wire.jsonrpc import RequestId

# As many as one client may have calls running, and how long it may take none of its answers.
MOST_UNREAD = 64
UNREAD_SECONDS = 10.0

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


class Unread:
    """How many messages wait to be read by a client, each with its answer in our memory."""

    def __init__(self) -> None:
        self.waiting = 0
        # Whether the client took nothing for too long.
        self.is_given_up = False
        self._taken = anyio.Event()

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """A message that is being sent."""
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1
            self._taken.set()
            self._taken = anyio.Event()

    async def is_too_much(self) -> bool:
        """Wait while too much is unread; True where the client takes nothing at all meanwhile."""
        while self.waiting > MOST_UNREAD:
            taken = self._taken
            with anyio.move_on_after(UNREAD_SECONDS):
                await taken.wait()
            if not taken.is_set():
                self.is_given_up = True
                return True
        return False


class FollowedInput(_Followed):
    """What a client sends; `note` gets the id of each request. One that does not read its answers can't ask any more."""

    def __init__(self, stream: Any, note: Note, unread: Unread) -> None:
        super().__init__(stream, note)
        self._unread = unread

    @property
    def last_context(self) -> Context | None:
        """Of the HTTP request that brought the last message: the SDK runs its handler in it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        if await self._unread.is_too_much():
            raise anyio.EndOfStream
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

    def __init__(self, stream: Any, note: Note, unread: Unread) -> None:
        super().__init__(stream, note)
        self._unread = unread

    async def send(self, item: SessionMessage, /) -> None:
        with self._unread.one_more():
            await self._stream.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
            self._note(item.message.id)
