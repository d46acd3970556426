"""Our own card: made of what peers may use now, signed anew where it is older than a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from toolcrib.model.peer import AgentCard
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.peers.card import own_card, signed_card
from toolcrib.peers.exposure import exposed, exposed_definition
from toolcrib.peers.identity import Identity
from toolcrib.version import VERSION

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
    """What we say of ourselves, and which tools that are; `forget` after anything of it has changed."""

    def __init__(
        self,
        identity: Identity,
        tools: Callable[[], Iterable[VisibleTool]],
        patterns: Callable[[], tuple[str, ...]],
        name: Callable[[], str],
        certificate_hash: str,
        now: Callable[[], float],
    ) -> None:
        self._identity = identity
        self._tools = tools
        self._patterns = patterns
        self._name = name
        self._certificate_hash = certificate_hash
        self._now = now
        self.port = 0
        self._exposed: Mapping[str, VisibleTool] | None = None
        self._signed: SignedCard | None = None
        self._signed_at = 0.0

    def forget(self) -> None:
        """Look anew at what may be used."""
        self._exposed = self._signed = None

    def exposed(self) -> Mapping[str, VisibleTool]:
        """The tools that trusted peers may use, by their names for peers."""
        if self._exposed is None:
            self._exposed = exposed(self._tools(), self._patterns())
        return self._exposed

    def signed(self) -> SignedCard:
        now = self._now()
        if self._signed is None or not 0 <= now - self._signed_at < SIGNED_SECONDS:
            self._signed, self._signed_at = self._sign(now), now
        return self._signed

    def _sign(self, now: float) -> SignedCard:
        card = own_card(
            self._identity,
            name=self._name(),
            version=VERSION,
            definitions=[exposed_definition(name, visible) for name, visible in self.exposed().items()],
            port=self.port,
            tls=self._certificate_hash,
            now=now,
        )
        return SignedCard(card, signed_card(card, self._identity))
