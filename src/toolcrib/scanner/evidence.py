"""Weighing what two sentences say, one after the other: several small signs together are an attack."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from toolcrib.model.finding import Finding, Level
from toolcrib.scanner.excerpts import shortened
from toolcrib.scanner.quoting import Named, is_only_named
from toolcrib.scanner.reading_form import reading_forms
from toolcrib.scanner.signal import ENOUGH, Signal
from toolcrib.scanner.signals import ALONE_NOTHING, ASKED_FOR, NO_ORDER, SIGNALS
from toolcrib.scanner.texts import Text

MOST_SENTENCE = 400
_SHORTEST = 12
_SPACE = re.compile(r"\s")
_SHORTEST_SENTENCE = 6
_SOFT = ENOUGH - 1
_STRONG = 3
_MOST_NAMED = 10
_SENTENCE_END = re.compile(r"(?<=[.!?;])(?<!e\.g\.)(?<!i\.e\.)\s+|\n+|(?<=[\u3002\uff01\uff1f])\s*")
# A sentence that says what a tool does, in the third person or as a heading, gives no orders.
_DESCRIBES = re.compile(
    r"^\W*(?:(?:this|the) (?:tool|function|server|endpoint|parameter|method) |it |an? )?(?:tool (?:to|that|for|which) )?(?:"
    r"(?:read|list|return|get|store|save|generate|check|create|fetche?|retrieve|delete|remove|update|add|set|send|upload|export|summari[sz]e|"
    r"search|searche|find|validate|rotate|manage|show|post|forward|clear|encode|decode|scan|detect|run|execute|log|require|use|open|close|load|"
    r"download|extract|write|configure|provide|acces|accesse|append|import|convert|print|display|render|analy[sz]e|start|stop|query|queries|copie|hide|block|"
    r"sign|give|replace|explain|translate|compute|look|record|track|monitor|apply|applie|reset|attach|publishe?|submit|transfer|share)s\b)"
)
# Of these one in the whole text colours the rest of it.
_EVERYWHERE = frozenset({"addressed", "markup"})
# What a server says to the model by its purpose says so somewhere, and that colours nothing.
_EVERYWHERE_IN_INSTRUCTIONS = _EVERYWHERE - {"addressed"}


@dataclass(frozen=True, slots=True)
class Weight:
    """What speaks against some words, the strongest first."""

    points: int = 0
    signals: tuple[Signal, ...] = ()
    words: str = ""
    is_only_named: bool = False

    @property
    def why(self) -> str:
        return "; ".join(dict.fromkeys(signal.says for signal in self.signals))


NOTHING = Weight()


def evidence(text: Text) -> Iterator[Finding]:
    """What a text asks of a model that no honest definition does."""
    # What has no spaces has its words joined as names have them.
    is_joined = text.is_name or not _SPACE.search(text.words)
    words = text.words.replace("_", " ") if is_joined else text.words
    everywhere = _EVERYWHERE_IN_INSTRUCTIONS if text.is_for_the_model else _EVERYWHERE
    weight = heaviest(words, asks_for_value=text.is_about_parameter, everywhere=everywhere)
    if weight.points >= _SOFT:
        level: Level = "hard" if weight.points >= ENOUGH else "soft"
        yield Finding(weight.signals[0].rule, level, text.where, weight.why, shortened(weight.words))


def heaviest(words: str, *, asks_for_value: bool = False, everywhere: frozenset[str] = _EVERYWHERE) -> Weight:
    """The two sentences against which most speaks, in the words as they are or with digits read as letters."""
    if len(words) < _SHORTEST:
        return NOTHING
    weights = [weight for form in reading_forms(words) for weight in _weights(form, asks_for_value, everywhere)]
    return max(weights, key=lambda weight: weight.points, default=NOTHING)


def windows(form: str) -> list[tuple[str, str]]:
    """A text in its reading form as pairs of neighbours; the last one stands alone."""
    sentences = [part for sentence in _sentences(form) for part in _parts(sentence)]
    return [*pairwise(sentences), (sentences[-1], "")] if sentences else []


def weigh(first: str, second: str = "", known: Iterable[Signal] = ()) -> Weight:
    """What speaks against two neighbouring sentences; what they only quote is never enough."""
    words = f"{first} {second}".rstrip()
    found = {signal.name: signal for signal in known}
    named: list[tuple[Signal, Named]] = []
    for signal in SIGNALS:
        if signal.name not in found and (places := _places(signal, words)):
            if None in places:
                found[signal.name] = signal
            else:
                named += [(signal, place) for place in places if place is not None]
    quoted = {signal.name: signal for signal, _ in named if signal.name not in found}
    if _is_whole_attack(named):
        found, quoted = found | quoted, {}
    points = _points(found, first)
    if not quoted or points >= ENOUGH:
        return Weight(points, _strongest_first(found), words)
    both = found | quoted
    return Weight(min(_points(both, first), _SOFT), _strongest_first(both), words, is_only_named=True)


def _weights(form: str, asks_for_value: bool, everywhere: frozenset[str]) -> Iterator[Weight]:
    known = [signal for signal in SIGNALS if signal.name in everywhere and _is_in(signal, form)]
    for first, second in windows(form):
        weight = weigh(first, second, known)
        is_asked_for = asks_for_value and any(signal.name in ASKED_FOR for signal in weight.signals)
        yield replace(weight, points=weight.points + 1) if is_asked_for and not weight.is_only_named else weight


def _points(found: Mapping[str, Signal], first: str) -> int:
    if found.keys() <= ALONE_NOTHING:
        return 0
    points = sum(signal.points for signal in found.values())
    if found.keys() <= NO_ORDER:
        return min(points - 2, _SOFT)
    is_description = _DESCRIBES.search(first) is not None
    return points - 2 if is_description and all(signal.points < ENOUGH for signal in found.values()) else points


def _strongest_first(found: Mapping[str, Signal]) -> tuple[Signal, ...]:
    return tuple(sorted(found.values(), key=lambda signal: -signal.points))


def _is_in(signal: Signal, form: str) -> bool:
    return None in _places(signal, form)


def _places(signal: Signal, words: str) -> list[Named | None]:
    """Where a signal is: for each place the quotation or report that only names it, or None where it is meant."""
    places: list[Named | None] = []
    for number, match in enumerate(signal.each(words)):
        # Nobody names one thing that often.
        places.append(is_only_named(words, match) if number < _MOST_NAMED else None)
        if places[-1] is None:
            break
    return places


def _is_whole_attack(named: Iterable[tuple[Signal, Named]]) -> bool:
    """Whether one quotation has strong signals of several kinds: no text needs that much to name a phrase."""
    rules: dict[Named, set[str]] = {}
    for signal, place in named:
        if signal.points >= _STRONG:
            rules.setdefault(place, set()).add(signal.rule)
    return any(len(kinds) > 1 for kinds in rules.values())


def _sentences(form: str) -> Iterator[str]:
    """Sentences; a very short one goes with the next, so that many of them are not many to look at."""
    held = ""
    for sentence in _SENTENCE_END.split(form):
        held = f"{held} {sentence}".strip()
        if len(held) >= _SHORTEST_SENTENCE:
            yield held
            held = ""
    if held:
        yield held


def _parts(sentence: str) -> list[str]:
    """A sentence in pieces short enough for the patterns; each piece but the first repeats the end of the one before."""
    step = MOST_SENTENCE * 3 // 4
    return [sentence[at : at + MOST_SENTENCE] for at in range(0, max(1, len(sentence) - MOST_SENTENCE + step), step)]
