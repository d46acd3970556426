"""Looking through one definition: what its own words say, whoever else is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, get_args

from toolcrib.model.finding import Finding, Level
from toolcrib.scanner.asked_for import asked_for
from toolcrib.scanner.attention import attention
from toolcrib.scanner.evidence import evidence
from toolcrib.scanner.hidden import hidden
from toolcrib.scanner.links import links
from toolcrib.scanner.mentions import mentions
from toolcrib.scanner.names import odd_name
from toolcrib.scanner.payloads import payloads
from toolcrib.scanner.texts import Text, TooMuchText, pieces, texts

MOST_FINDINGS = 50
TOO_MUCH = "size"
_SHORTEST = 12
_MOST_OF_EACH = 300
_ORDER = get_args(Level)


def scan(definition: Mapping[str, Any]) -> tuple[Finding, ...]:
    """What a definition of a tool, prompt, resource or server should not have; the hard ones first.

    The same for the same definition, so that it may be kept; `beside` says what becomes of latent ones.
    """
    return _the_worst(chain(odd_name(definition), _in_words(definition)))


def scan_words(value: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The same for what is no definition, and may well be longer than what there is room to look at."""
    return _the_worst(finding for finding in _in_words(value) if finding.rule != TOO_MUCH)


def _the_worst(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    found = {(finding.rule, finding.where, finding.why): finding for finding in findings}
    return tuple(sorted(found.values(), key=lambda finding: _ORDER.index(finding.level))[:MOST_FINDINGS])


def _in_words(definition: Mapping[str, Any]) -> Iterator[Finding]:
    seen: set[str] = set()
    yield from _over_title_and_description(definition)
    try:
        for text in texts(definition):
            yield from hidden(text)
            if len(text.words) >= _SHORTEST and text.words not in seen:
                seen.add(text.words)
                for piece in pieces(text):
                    yield from _said(piece)
    except TooMuchText as end:
        yield Finding(TOO_MUCH, "hard", end.where, "has more text than can be looked at")


def _over_title_and_description(definition: Mapping[str, Any]) -> Iterator[Finding]:
    """What begins in a title and ends in a description, so that neither says it; clients show one after the other."""
    title, description = definition.get("title"), definition.get("description")
    if not isinstance(title, str) or not isinstance(description, str):
        return
    title, description = title[-_MOST_OF_EACH:], description[:_MOST_OF_EACH]
    parts = (evidence(Text("/title", title)), evidence(Text("/description", description)))
    if not any(chain(*parts)):
        yield from evidence(Text("/title", f"{title} {description}"))


def _said(text: Text) -> Iterator[Finding]:
    return chain(evidence(text), asked_for(text), payloads(text), links(text), attention(text), mentions(text))
