"""Which resources of a server somebody wants to hear about; taken up again on each new link."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from weakref import WeakValueDictionary

from toolcrib.errors import ToolcribError
from toolcrib.model.clean_name import clean_address
from toolcrib.upstream.link import SessionExpired
from toolcrib.upstream.pacing import LatestOnly
from toolcrib.upstream.session import Session

log = logging.getLogger(__name__)

SUBSCRIBE_SECONDS = 10.0
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 60.0

Hear = Callable[[str], None]


class Watches:
    """One subscription upstream for each address, however many listen; in the newest revision one stream for all of them."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._watchers: dict[str, list[Hear]] = {}
        self._stream: asyncio.Task[None] | None = None
        self._news: LatestOnly[str] | None = None
        # Of these the server tells us, on the link that is open.
        self._told: set[str] = set()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __bool__(self) -> bool:
        return bool(self._watchers)

    def add(self, uri: str, hear: Hear) -> bool:
        """Note who listens; whether the server has to be told."""
        own = self._watchers.setdefault(uri, [])
        own.append(hear)
        return len(own) == 1

    def remove(self, uri: str, hear: Hear) -> bool:
        """The same for somebody who listens no longer."""
        own = self._watchers.get(uri, [])
        if hear not in own:
            return False
        own.remove(hear)
        if not own:
            del self._watchers[uri]
        return not own

    def turn(self, uri: str) -> asyncio.Lock:
        """Held while somebody begins to listen, so that the next one hears what the server answered."""
        return self._turns.setdefault(uri, asyncio.Lock())

    def move_to(self, other: Watches) -> None:
        """Let all who listen here listen there."""
        for uri, listeners in self._watchers.items():
            other._watchers.setdefault(uri, []).extend(listeners)
        self._watchers = {}

    def updated(self, uri: str) -> None:
        """A resource has changed: whoever listens to it, or to what it is a part of, is told; not more often than makes sense."""
        if self._news is None:
            self._news = LatestOnly(self._tell)
        self._news.tell(uri, uri)

    def _tell(self, uri: str) -> None:
        for watched, listeners in list(self._watchers.items()):
            if uri == watched or uri.startswith(f"{watched.rstrip('/')}/"):
                for hear in list(listeners):
                    hear(clean_address(uri))

    async def begin(self, session: Session, uri: str) -> None:
        """Have the server tell about one more address; raises what it answers."""
        if session.identity.era == "modern":
            self._listen(session)
        elif uri not in self._told:
            await session.ask("resources/subscribe", {"uri": uri}, SUBSCRIBE_SECONDS)
            self._told.add(uri)

    async def end(self, session: Session, uri: str) -> None:
        """Have it stop; what goes wrong with that is no concern of anybody's."""
        if session.identity.era == "modern":
            self._listen(session)
            return
        self._told.discard(uri)
        try:
            await session.ask("resources/unsubscribe", {"uri": uri}, SUBSCRIBE_SECONDS)
        except (ToolcribError, SessionExpired) as trouble:
            log.debug("%s: not unsubscribed: %s", self._server, trouble)

    async def take_up(self, session: Session) -> None:
        """Subscribe again on a new link."""
        if session.identity.era == "modern":
            self._listen(session)
            return
        for uri in list(self._watchers):
            try:
                async with self.turn(uri):
                    if uri in self._watchers:
                        await self.begin(session, uri)
            except (ToolcribError, SessionExpired) as trouble:
                log.warning("%s: no longer heard about %s: %s", self._server, uri, trouble)

    def stop(self) -> None:
        """The link is gone."""
        if self._news is not None:
            self._news.finish()
        self._told.clear()
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None

    def _listen(self, session: Session) -> None:
        """One stream with all addresses in place of the one before; the new one is asked for first."""
        before = self._stream
        self._stream = asyncio.create_task(_listening(session, list(self._watchers))) if self._watchers else None
        if before is not None:
            before.cancel()


async def _listening(session: Session, addresses: list[str]) -> None:
    """Listen on one stream after the other: those over HTTP break now and then."""
    wait = FIRST_WAIT_SECONDS
    while await session.listen_to(addresses):
        await asyncio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT_SECONDS)
