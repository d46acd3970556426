"""Our own card: made of what peers may use now, signed anew where it is older than a second."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolcrib.model.peer import AgentCard
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.peers.card import own_card, signed_card
from toolcrib.peers.exposure import exposed, exposed_definition, unmatched
from toolcrib.peers.identity import Identity
from toolcrib.version import VERSION
from toolcrib.workspace.catalog_view import CatalogView

log = logging.getLogger(__name__)

SIGNED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SignedCard:
    """A card, and the same as it is sent."""

    card: AgentCard
    body: bytes

    @property
    def etag(self) -> str:
        return self.card.etag


class OwnCard:
    """What we say of ourselves, and which tools of the view peers may use."""

    def __init__(
        self,
        identity: Identity,
        view: CatalogView,
        *,
        name: Callable[[], str],
        patterns: Callable[[], tuple[str, ...]],
        certificate_hash: str,
        now: Callable[[], float],
    ) -> None:
        self._identity = identity
        self._view = view
        self._name = name
        self._patterns = patterns
        self._certificate_hash = certificate_hash
        self._now = now
        self.port = 0
        self._told: set[str] = set()
        self._exposed: Mapping[str, VisibleTool] = {}
        self._card: AgentCard | None = None
        self._made_of: object = None
        self._signed: SignedCard | None = None
        self._signed_at = 0.0

    def exposed(self) -> Mapping[str, VisibleTool]:
        """The tools that trusted peers may use, by their names for peers."""
        self.current()
        return self._exposed

    def signed(self) -> SignedCard:
        """The same, signed a moment ago."""
        card, now = self.current(), self._now()
        is_recent = 0 <= now - self._signed_at < SIGNED_SECONDS
        if self._signed is None or self._signed.etag != card.etag or not is_recent:
            fresh = self._made(now)
            self._signed, self._signed_at = SignedCard(fresh, signed_card(fresh, self._identity)), now
        return self._signed

    def current(self) -> AgentCard:
        """The card as it is now, with the time at which anything of it changed last."""
        made_of = (self._view.catalog.version, self._view.version, self._patterns(), self._name(), self.port)
        if self._card is None or made_of != self._made_of:
            self._exposed = self._found(self._patterns()) if self._patterns() else {}
            self._card, self._made_of = self._made(self._now()), made_of
        return self._card

    def _found(self, patterns: Sequence[str]) -> Mapping[str, VisibleTool]:
        view = self._view
        tools = (tool for server in view.specs for tool in view.tools(server).values())
        found = exposed(tools, patterns, self._tell_once)
        for pattern in unmatched(patterns, found.values(), view.specs.values(), view.was_read):
            self._tell_once(f"peers.expose: {pattern!r} fits no tool that peers could use")
        return found

    def _tell_once(self, message: str) -> None:
        """A card is made anew with every change; what is wrong with the settings is told the first time."""
        if message not in self._told:
            self._told.add(message)
            log.warning("%s", message)

    def _made(self, now: float) -> AgentCard:
        return own_card(
            self._identity,
            name=self._name(),
            version=VERSION,
            definitions=[exposed_definition(name, visible) for name, visible in self._exposed.items()],
            port=self.port,
            tls=self._certificate_hash,
            now=now,
        )
