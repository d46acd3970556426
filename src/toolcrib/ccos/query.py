"""Which capabilities are meant: by id, domain, category, provider, effect and text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import regex

from toolcrib.ccos.known_capability import KnownCapability
from toolcrib.ccos.manifest import ApprovalStatus
from toolcrib.errors import ValidationError
from toolcrib.rules.glob import PatternError, glob_to_regex
from toolcrib.topics.domains import domain_matches

MOST_PATTERN_CHARACTERS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityQuery:
    """What is empty does not matter. `id` is a glob; of `text` every word must be found; `provider` is a server's name,
    a part of its address, or a kind of provider such as mcp.
    """

    id: str = ""
    domain: str = ""
    category: str = ""
    provider: str = ""
    effect: str = ""
    permission: str = ""
    text: str = ""
    status: ApprovalStatus | None = None
    limit: int | None = None

    def select(self, known: list[KnownCapability]) -> list[KnownCapability]:
        """Those that are meant, in the order given."""
        is_named = _id_matcher(self.id)
        found = [capability for capability in known if is_named(capability.id) and self._fits(capability)]
        return found if self.limit is None else found[: max(0, self.limit)]

    def _fits(self, known: KnownCapability) -> bool:
        return (
            (not self.category or self.category in known.categories)
            and (not self.domain or any(domain_matches(self.domain, domain) for domain in known.domains[-1:]))
            and (not self.provider or _provides(known, self.provider))
            and (self.status is None or self.status == known.status)
            and all(word in known.search_text for word in self.text.replace("_", " ").lower().split())
            # Last: these need the whole manifest.
            and (not self.effect or f":{self.effect.lstrip(':')}" in known.manifest.effects)
            and (not self.permission or self.permission in known.manifest.permissions)
        )


def _provides(known: KnownCapability, wanted: str) -> bool:
    return wanted == known.server or wanted in known.address or wanted.lower() == known.manifest.provider.type


def _id_matcher(pattern: str) -> Callable[[str], bool]:
    if not pattern:
        return lambda _: True
    if len(pattern) > MOST_PATTERN_CHARACTERS:
        raise ValidationError(f"the id pattern is longer than {MOST_PATTERN_CHARACTERS} characters")
    try:
        matches = regex.compile(glob_to_regex(pattern), regex.IGNORECASE).fullmatch
    except PatternError as error:
        raise ValidationError(f"the id pattern can't be read: {error}") from None
    return lambda id: matches(id) is not None
