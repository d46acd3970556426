"""A capability somebody wants and does not have: where it may be found, best first, and what has to be done for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from toolcrib.ccos.capability_catalog import CapabilityCatalog
from toolcrib.ccos.known_capability import KnownCapability
from toolcrib.errors import ToolcribError, ValidationError
from toolcrib.model.snake_case import snake_case
from toolcrib.topics.domains import domain_matches, extract_sub_domain

Place = Literal["local", "known", "registry"]

MOST_WANTED_CHARACTERS = 400
GOOD_ENOUGH = 0.6

_ID = re.compile(r"[A-Za-z0-9_-]+(?:[./:][A-Za-z0-9_@-]+)+")
# Below this a description has next to nothing to do with what is wanted.
_FITS = 0.1
_SAME_TOOL = 0.95
_SAME_WORDS = 0.8
_SAME_SUBJECT = 0.55


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may do; `next_step` says what is missing, and is empty where it can be used as it is.

    `place` is local where it may be used now, known where the catalog has it but it may not be used, or registry.
    """

    id: str
    place: Place
    score: float
    reasons: tuple[str, ...]
    server: str
    tool: str = ""
    description: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Candidates for what was wanted, best first; `troubles` say what could not be asked."""

    wanted: str
    candidates: tuple[Candidate, ...]
    troubles: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate | None:
        return next(iter(self.candidates), None)

    @property
    def is_at_hand(self) -> bool:
        """Whether something that may be used now fits well."""
        return self.best is not None and self.best.place == "local" and self.best.score >= GOOD_ENOUGH


class RegistryOffer(Protocol):
    """A server of a registry that may have what is wanted; `relevance` is in 0..1."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def relevance(self) -> float: ...

    @property
    def reasons(self) -> Sequence[str]: ...


class RegistrySource(Protocol):
    """Whoever can look into the registries of servers."""

    async def offers(self, query: str, limit: int) -> Iterable[RegistryOffer]: ...


class CapabilityResolver:
    """Looks here first, and into the registries only where nothing here fits well; nothing is ever installed."""

    def __init__(self, catalog: CapabilityCatalog, registry: RegistrySource | None = None) -> None:
        self._catalog = catalog
        self._registry = registry

    async def resolve(self, wanted: str, *, limit: int = 5, ask_registry: bool = True) -> Resolution:
        """Candidates for an id such as `mcp.github.list_issues`, or for a description in words."""
        text = wanted.strip()
        if not text or len(text) > MOST_WANTED_CHARACTERS:
            raise ValidationError(f"describe what you need in 1 to {MOST_WANTED_CHARACTERS} characters")
        local = sorted(self._local(text, limit), key=_standing)
        found = Resolution(text, tuple(local[:limit]))
        if found.is_at_hand or self._registry is None or not ask_registry:
            return found
        try:
            offers = [_offered(offer) for offer in await self._registry.offers(words_of(text), limit)]
        except ToolcribError as error:
            return Resolution(text, found.candidates, (error.message,))
        return Resolution(text, tuple(sorted([*local, *offers], key=_standing)[:limit]))

    def _local(self, text: str, limit: int) -> list[Candidate]:
        best: dict[str, Candidate] = {}
        for candidate in (*self._by_id(text), *self._by_meaning(text, limit)):
            before = best.get(candidate.id)
            if before is None or candidate.score > before.score:
                best[candidate.id] = candidate
        return list(best.values())

    def _by_id(self, text: str) -> list[Candidate]:
        if not _ID.fullmatch(text):
            return []
        known = self._catalog.known()
        exact = [_candidate(one, 1.0, "has exactly this id") for one in known if one.id.lower() == text.lower()]
        return exact or [found for one in known if (found := _like(text, one)) is not None]

    def _by_meaning(self, text: str, limit: int) -> list[Candidate]:
        hits = self._catalog.search(words_of(text), limit=limit * 2, semantic=True)
        most = max((hit.score for hit in hits), default=0.0)
        # Without an engine scores count words: they are brought into 0..1.
        scale = max(1.0, most)
        fitting = ((hit, hit.score / scale * 0.9) for hit in hits)
        return [_candidate(hit.capability, score, "its description fits") for hit, score in fitting if score >= _FITS]


def words_of(wanted: str) -> str:
    """The words of an id, or the description as it is."""
    return " ".join(_id_words(wanted)) if _ID.fullmatch(wanted) else wanted


def _id_words(id: str) -> list[str]:
    return [word for part in re.split(r"[./:@]", id) for word in snake_case(part).split("_") if word not in {"mcp", ""}]


def _like(wanted: str, known: KnownCapability) -> Candidate | None:
    """A capability that shares the tool, or the subject, of a wanted id that nobody has."""
    tool = re.split(r"[./:]", wanted)[-1]
    if snake_case(tool) == snake_case(known.name):
        return _candidate(known, _SAME_TOOL, "the same tool on another server")
    words = set(snake_case(tool).split("_"))
    if len(words) > 1 and words <= set(snake_case(known.name).split("_")):
        return _candidate(known, _SAME_WORDS, "its name has the same words")
    subject, server = extract_sub_domain(tool), wanted.removeprefix("mcp.").rpartition(".")[0]
    if subject and server and any(domain_matches(f"{server}.{subject}", domain) for domain in known.domains[1:]):
        return _candidate(known, _SAME_SUBJECT, f"is about {subject.replace('_', ' ')} too")
    return None


def _candidate(known: KnownCapability, score: float, reason: str) -> Candidate:
    reasons = (reason, *([known.reason] if known.reason else []))
    return Candidate(
        id=known.id,
        place="local" if known.may_be_used else "known",
        score=round(min(score, 1.0), 3),
        reasons=reasons,
        server=known.server,
        tool=known.name,
        description=known.tool.summary,
        next_step=_next_step(known),
    )


def _next_step(known: KnownCapability) -> str:
    if known.may_be_used:
        return ""
    if known.status == "pending":
        return f"a person has to approve it: toolcrib approvals show {known.server}"
    if known.status == "revoked":
        return f"a person has to add the server again: toolcrib add {known.server}"
    return "a person has to change the rules that disable it"


def _offered(offer: RegistryOffer) -> Candidate:
    return Candidate(
        id=offer.name,
        place="registry",
        score=round(max(0.0, min(offer.relevance, 1.0)) * 0.8, 3),
        reasons=tuple(offer.reasons),
        server=offer.name,
        description=offer.description,
        next_step=f"a person has to add it: toolcrib registry show {offer.name}",
    )


def _standing(candidate: Candidate) -> tuple[float, str]:
    """Best first; what may be used now before what may not, unless that fits much better."""
    handicap = {"local": 0.0, "known": 0.15, "registry": 0.25}[candidate.place]
    return handicap - candidate.score, candidate.id
