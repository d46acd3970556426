"""Clients of the SDK's server that want to hear of changes, on their own streams."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp.server.connection import Connection

from toolcrib.server.listening_clients import SUBSCRIBE, ListeningClient
from toolcrib.server.native_methods import NativeMethods
from toolcrib.server.request_params import RequestParams, require
from toolcrib.server.requests import Request
from toolcrib.server.results import Members

_STATE = "toolcrib.listening"


class HttpListening:
    """The subscriptions of clients of the handshake era, each for as long as its session lasts."""

    def __init__(self, native: NativeMethods) -> None:
        self._native = native
        self._telling: set[asyncio.Task[None]] = set()

    def greet(self, connection: Connection, request: Request) -> ListeningClient:
        """The client of a session, who is told of changed lists without asking."""
        # Kept with the connection: each holds the other, so that anywhere else both would stay for ever.
        known = connection.state.get(_STATE)
        if isinstance(known, ListeningClient):
            return known

        def tell(method: str, params: Mapping[str, Any]) -> None:
            task = asyncio.ensure_future(connection.outbound.notify(method, dict(params)))
            self._telling.add(task)
            task.add_done_callback(self._told)

        client = ListeningClient(self._native, request, tell, lists=self._native.lists_told(request.caller.rights))
        connection.state[_STATE] = client
        connection.exit_stack.push_async_callback(client.close)
        return client

    async def answer(self, method: str, params: RequestParams, connection: Connection, request: Request) -> Members:
        """The answer to `resources/subscribe` and `resources/unsubscribe`."""
        require(isinstance(params.uri, str))
        client = self.greet(connection, request)
        if method == SUBSCRIBE:
            await client.subscribe(params.uri, request)
        else:
            await client.unsubscribe(params.uri)
        return {}

    def _told(self, task: asyncio.Task[None]) -> None:
        self._telling.discard(task)
        if not task.cancelled():
            task.exception()  # whoever is gone hears nothing
