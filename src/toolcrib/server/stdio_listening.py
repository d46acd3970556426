"""What a client on stdio wants to hear of: kept in the session's journal, so that the next engine goes on telling it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from toolcrib.server.listening_clients import SUBSCRIBE, ListeningClient, Tell, listen
from toolcrib.server.native_methods import NativeMethods
from toolcrib.server.request_params import RequestParams, require
from toolcrib.server.requests import Request
from toolcrib.server.results import Members
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, RequestId, RpcError

MOST_STREAMS = 100


class StdioListening:
    """The subscriptions of one connection: by method in the handshake era, by running requests in the newest revision."""

    def __init__(self, native: NativeMethods, tell: Tell) -> None:
        self._native = native
        self._tell = tell
        self._client: ListeningClient | None = None
        self._streams: dict[RequestId, tuple[asyncio.Task[None], object]] = {}
        self._resuming: asyncio.Task[None] | None = None
        # Called when there is something else to remember.
        self.when_changed: Callable[[], None] = lambda: None

    @property
    def state(self) -> dict[str, Any]:
        """What another engine has to know, as plain JSON."""
        subscribed = [] if self._client is None else self._client.addresses
        return {"subscribed": subscribed, "listening": [[id, wanted] for id, (_, wanted) in self._streams.items()]}

    def greet(self, request: Request) -> None:
        """A client of the handshake era is there: it is told of changed lists without asking."""
        if self._client is None:
            lists = self._native.lists_told(request.caller.rights)
            self._client = ListeningClient(self._native, request, self._tell, lists=lists)

    async def answer(self, method: str, params: RequestParams, request: Request) -> Members:
        """The answer to `resources/subscribe` and `resources/unsubscribe`."""
        require(isinstance(params.uri, str))
        self.greet(request)
        assert self._client is not None
        if method == SUBSCRIBE:
            await self._client.subscribe(params.uri, request)
        else:
            await self._client.unsubscribe(params.uri)
        self.when_changed()
        return {}

    def begin(self, id: RequestId, wanted: object, request: Request, *, is_resumed: bool = False) -> None:
        """Listen for a client of the newest revision until it cancels its request; raises RpcError where that is too often."""
        self.cancel(id)
        if len(self._streams) >= MOST_STREAMS:
            raise RpcError(INTERNAL_ERROR, f"a client may listen {MOST_STREAMS} times at once")

        async def notify(method: str, params: Mapping[str, Any]) -> None:
            self._tell(method, params)

        listening = listen(self._native, wanted, id, request, notify, is_resumed=is_resumed)
        self._streams[id] = (asyncio.create_task(listening), wanted)
        self.when_changed()

    def cancel(self, id: object) -> bool:
        """Stop listening; whether that was one of these requests."""
        if not isinstance(id, int | str) or id not in self._streams:
            return False
        task, _ = self._streams.pop(id)
        task.cancel()
        self.when_changed()
        return True

    def resume(self, state: Mapping[str, Any], request: Request) -> None:
        """Go on with what a client of another engine listened to."""
        if not request.is_modern:
            self.greet(request)
        for id, wanted in state.get("listening", ()):
            self.begin(id, wanted, request, is_resumed=True)
        if state.get("subscribed"):
            self._resuming = asyncio.create_task(self._subscribe_again(state["subscribed"], request))

    async def close(self) -> None:
        tasks = [task for task, _ in self._streams.values()]
        if self._resuming is not None:
            tasks.append(self._resuming)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _subscribe_again(self, addresses: list[str], request: Request) -> None:
        self.greet(request)
        assert self._client is not None
        for uri in addresses:
            try:
                await self._client.subscribe(uri, request)
            except RpcError:
                continue  # it may be gone by now
