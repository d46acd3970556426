"""A search by the names of tools: globs and regular expressions in the place of words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from toolcrib.errors import ValidationError
from toolcrib.rules.glob import PatternError
from toolcrib.rules.pattern import Pattern, PatternUndecided

MOST_PATTERNS = 8
# A question mark ends questions and a bracket holds remarks, so they alone make no pattern.
_GLOB = re.compile(r"!?[^\s/]*(?:\*|\{[^{}\s]*,[^{}\s]*\})[^\s/]*")
_REGEX = re.compile(r"!?/\S*[^\s/]\S*/[gimsuy]*")


@dataclass(frozen=True, slots=True)
class NamePatterns:
    """Fits a tool that one of the positive patterns fits, and none of the negative ones."""

    positives: tuple[Pattern, ...]
    negatives: tuple[Pattern, ...]

    def fit(self, server: str, tool: str) -> bool:
        if _any_fits(self.negatives, server, tool):
            return False
        return not self.positives or _any_fits(self.positives, server, tool)


def name_patterns(query: str) -> NamePatterns | None:
    """The patterns a query is made of; None for a query in words, which may hold a star or a slash too."""
    words = query.split()
    if not 0 < len(words) <= MOST_PATTERNS or not all(map(_is_pattern, words)):
        return None
    try:
        patterns = [Pattern.parse(word) for word in words]
    except PatternError as problem:
        raise ValidationError(f"the pattern can't be read: {problem}") from None
    positives = tuple(pattern for pattern in patterns if not pattern.negated)
    return NamePatterns(positives, tuple(pattern for pattern in patterns if pattern.negated))


def _is_pattern(word: str) -> bool:
    return bool(_GLOB.fullmatch(word) or _REGEX.fullmatch(word))


def _any_fits(patterns: Iterable[Pattern], server: str, tool: str) -> bool:
    for pattern in patterns:
        try:
            if pattern.matches(server, tool):
                return True
        except PatternUndecided:
            continue  # it takes too long: what can't be told does not fit
    return False
