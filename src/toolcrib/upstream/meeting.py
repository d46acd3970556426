"""Opening a session with a server: the transport and the first words that most likely work, then the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from toolcrib.errors import ServerConnectionError, SessionInitFailed, ToolcribError
from toolcrib.model.asking import QuestionKind
from toolcrib.model.reading import Identity
from toolcrib.model.server import RemoteLaunch, ServerSpec, Transport
from toolcrib.upstream.household import Household
from toolcrib.upstream.inbox import Inbox
from toolcrib.upstream.link import Link, LinkEars
from toolcrib.upstream.session import Session
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND
from toolcrib.wire.protocol import LATEST_HANDSHAKE_VERSION

OpenLink = Callable[[ServerSpec, LinkEars], Awaitable[Link]]

# For servers that end when the first thing they hear is not the handshake.
HANDSHAKE_FIRST = Identity("legacy", LATEST_HANDSHAKE_VERSION)
_OTHER_TRANSPORT: Mapping[Transport, Transport] = {"http": "sse", "sse": "http"}
# What a server answers to a transport it does not speak.
_NOT_THIS_WAY = frozenset({400, 404, 405, 406, 415, 501})


@dataclass(frozen=True, slots=True)
class Meeting:
    """What it takes to open a session with any server."""

    open_link: OpenLink
    on_tools_changed: Callable[[], None]
    client_info: Mapping[str, str]
    probe_seconds: float
    handshake_seconds: float
    on_asked: Callable[[QuestionKind], None]
    household: Household | None
    on_updated: Callable[[str], None] = lambda _: None

    async def open(self, spec: ServerSpec, known: Identity | None) -> Session:
        """A session, by the way the entry names, or by another one where nothing was known and that one failed."""
        try:
            return await self._open(spec, known)
        except ToolcribError as failure:
            another = _another_way(spec, known, failure)
            if another is None:
                raise
            try:
                return await self._open(*another)
            except ToolcribError as second:
                # Of two transports, what the entry's own one said is worth more.
                raise failure if another[0] != spec else second from None

    async def _open(self, spec: ServerSpec, known: Identity | None) -> Session:
        inbox = Inbox(spec.name, self.on_tools_changed, self.on_asked, self.household, on_updated=self.on_updated)
        link = await self.open_link(spec, LinkEars(inbox.receive, inbox.asked))
        try:
            async with asyncio.timeout(self.handshake_seconds):
                return await Session.start(
                    spec.name, link, inbox, known=known, probe_seconds=self.probe_seconds, client_info=self.client_info
                )
        except BaseException:
            await to_the_end(link.close())
            raise


def _another_way(
    spec: ServerSpec, known: Identity | None, failure: ToolcribError
) -> tuple[ServerSpec, Identity | None] | None:
    launch = spec.launch
    if isinstance(launch, RemoteLaunch) and launch.is_transport_guessed and _is_other_transport(failure):
        return replace(spec, launch=replace(launch, transport=_OTHER_TRANSPORT[launch.transport])), known
    is_lost = isinstance(failure, ServerConnectionError) and failure.sent and not failure.retryable
    return (spec, HANDSHAKE_FIRST) if known is None and is_lost else None


def _is_other_transport(failure: ToolcribError) -> bool:
    if isinstance(failure, SessionInitFailed):
        return failure.rpc_code == METHOD_NOT_FOUND
    return isinstance(failure, ServerConnectionError) and failure.details.get("status") in _NOT_THIS_WAY


async def to_the_end(closing: Coroutine[Any, Any, None]) -> None:
    """Finish closing even if we are told to stop meanwhile: a server that is half closed stays behind."""
    task = asyncio.ensure_future(closing)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    task.result()
