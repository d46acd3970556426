"""Clients that want to hear of changes: which resources and lists each asked about, and what it is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn

from toolcrib.server.native_methods import NativeMethods
from toolcrib.server.native_names import OWN_SCHEME
from toolcrib.server.requests import Request
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, RequestId, RpcError

log = logging.getLogger(__name__)

LISTEN: Final = "subscriptions/listen"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
UPDATED: Final = "notifications/resources/updated"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
# What a client may ask to hear about lists, and what it is then told.
LIST_CHANGES: Final[Mapping[str, str]] = {
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}
MOST_ADDRESSES = 1_000
MOST_UNHEARD = 1_000

Tell = Callable[[str, Mapping[str, Any]], None]
Notify = Callable[[str, Mapping[str, Any]], Awaitable[None]]
Leave = Callable[[], Awaitable[None]]


class ListeningClient:
    """One client, or one stream of it; hears of what it asked about and may read, and of nothing else."""

    def __init__(self, native: NativeMethods, request: Request, tell: Tell, *, lists: Mapping[str, bool]) -> None:
        self._native = native
        self._tell = tell
        self._lists = {name for name, is_wanted in lists.items() if is_wanted and name in LIST_CHANGES}
        self._leaves: dict[str, Leave] = {}
        self._asking = asyncio.Lock()
        self._is_closed = False
        if self._lists:  # who hears of none costs nothing when something changes
            native.changes.add(self._lists_changed, request.caller_now)

    @property
    def addresses(self) -> list[str]:
        return list(self._leaves)

    @property
    def lists(self) -> list[str]:
        return sorted(self._lists)

    async def subscribe(self, uri: str, request: Request) -> None:
        """Hear of a resource from now on; raises RpcError where that can't be."""
        async with self._asking:
            if uri not in self._leaves and not self._is_closed:
                await self._subscribe(uri, request)

    async def _subscribe(self, uri: str, request: Request) -> None:
        if len(self._leaves) >= MOST_ADDRESSES:
            raise RpcError(INTERNAL_ERROR, f"a client may listen to {MOST_ADDRESSES} resources")

        def hear(updated: str) -> None:
            # By the address that the client knows, which may be one of ours.
            self._tell(UPDATED, {"uri": uri if uri.startswith(OWN_SCHEME) else updated})

        self._leaves[uri] = await self._native.subscribe(uri, hear, request)

    async def unsubscribe(self, uri: str) -> None:
        async with self._asking:
            leave = self._leaves.pop(uri, None)
            if leave is not None:
                await leave()

    async def close(self) -> None:
        """Hear of nothing any more."""
        self._is_closed = True
        self._native.changes.discard(self._lists_changed)
        async with self._asking:  # who is just being subscribed is among them then
            leaves, self._leaves = list(self._leaves.values()), {}
        await asyncio.gather(*(leave() for leave in leaves), return_exceptions=True)

    def _lists_changed(self, changed: frozenset[str]) -> None:
        for name in sorted(self._lists & changed):
            self._tell(LIST_CHANGES[name], {})


async def listen(
    native: NativeMethods,
    wanted: object,
    id: RequestId,
    request: Request,
    notify: Notify,
    *,
    is_resumed: bool = False,
) -> NoReturn:
    """Serve one `subscriptions/listen` until it is cancelled: what is heard is said first, then what happens.

    A client that another engine has served before was told already.
    """
    asked = wanted if isinstance(wanted, Mapping) else {}
    meta = {"_meta": {SUBSCRIPTION_ID: id}}
    unheard: asyncio.Queue[tuple[str, Mapping[str, Any]]] = asyncio.Queue(MOST_UNHEARD)

    def tell(method: str, params: Mapping[str, Any]) -> None:
        if not unheard.full():  # a client that reads nothing asks anew anyway
            unheard.put_nowait((method, params))

    client = ListeningClient(native, request, tell, lists={name: asked.get(name) is True for name in LIST_CHANGES})
    try:
        for uri in _addresses(asked):
            try:
                await client.subscribe(uri, request)
            except RpcError as refusal:
                log.debug("nobody tells about %s: %s", uri, refusal.message)
        if not is_resumed:
            await notify(ACKNOWLEDGED, {"notifications": _honoured(client), **meta})
        while True:
            method, params = await unheard.get()
            await notify(method, {**params, **meta})
    finally:
        await client.close()


def _addresses(asked: Mapping[str, Any]) -> list[str]:
    given = asked.get("resourceSubscriptions")
    return [uri for uri in given if isinstance(uri, str)] if isinstance(given, list) else []


def _honoured(client: ListeningClient) -> dict[str, Any]:
    lists: dict[str, Any] = dict.fromkeys(client.lists, True)
    return {**lists, "resourceSubscriptions": client.addresses} if client.addresses else lists
