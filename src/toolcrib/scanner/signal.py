"""Evidence that a text misuses a model: each pattern is a little of it, and a few are enough alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ENOUGH = 5

# Words that several patterns have in common.
USER = r"(?:user|human|person|customer|operator|owner|client|people|anyone|anybody|them)s?(?:'s)?\b"
NOT = r"(?:do not|don't|never|must not|mustn't|should not|shouldn't|may not|no need to|not to|avoid|cannot|can't|nor)"


@dataclass(frozen=True, slots=True)
class Signal:
    """`stems`: one of them is in every text that the pattern finds; they are looked for first, since that is quick."""

    name: str
    points: int
    rule: str
    says: str
    stems: tuple[str, ...]
    pattern: re.Pattern[str]

    def search(self, words: str) -> re.Match[str] | None:
        """The first place in one or two sentences, in their reading form; these are short, so that no pattern takes long."""
        return next(self.each(words), None)

    def each(self, words: str) -> Iterator[re.Match[str]]:
        """Each place."""
        return self.pattern.finditer(words) if any(stem in words for stem in self.stems) else iter(())


def signal(name: str, points: int, rule: str, says: str, stems: str, *patterns: str) -> Signal:
    return Signal(name, points, rule, says, tuple(stems.split()), re.compile("|".join(patterns)))


def some(most: int) -> str:
    """A pattern for a few words in between."""
    return rf"(?: [^\s.;]{{1,40}}){{0,{most}}}"
