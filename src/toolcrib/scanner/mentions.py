"""Orders about tools that may be another server's: found here, and judged where it is known who else is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolcrib.model.finding import Finding, bare_name
from toolcrib.scanner.evidence import weigh, windows
from toolcrib.scanner.excerpts import shortened
from toolcrib.scanner.reading_form import reading_forms
from toolcrib.scanner.texts import Text

# Names of one plain word are said by chance; those of several, in the way of programs, are not.
_NAME = re.compile(r"[a-z][a-z0-9]{0,40}(?:[_-][a-z0-9]{1,40})+")
_SHORTEST_NAME = 8
_ENOUGH = 3
_MOST = 10
_TAKES_OVER = re.compile(
    r"\b(?:do not|don't|never|stop|avoid) (?:use|using|call|calling|trust|trusting|choose)\b|\bredirect|\bintercept|\bbcc\b|\boverrid"
    r"|\b(?:changes?|modif(?:y|ies)|alters?) how\b|\b(?:change|modify|replace|alter|swap|rewrite) (?:the|its|all|every)\b"
    r"|\b(?:must|has to|have to|should) be (?:used|called)(?: \w{1,20}){0,2} (?:in its place|instead)\b"
)
_TAKES_RESULT = re.compile(
    r"\b(?:its|the|their) (?:results?|outputs?|answers?|contents?|text|arguments?)\b|\bwhat it (?:returned|returns|gave|gives)\b"
)
_DISCREDITS = re.compile(
    r"\b(?:is|are|was) (?:broken|unsafe|insecure|compromised|malicious|outdated|deprecated|disabled|unreliable|wrong|forbidden"
    r"|no longer (?:safe|supported))\b"
)


def mentions(text: Text) -> Iterator[Finding]:
    """A latent finding for each tool about which a text gives orders that would be hostile if it is somebody else's."""
    if "_" not in text.words and "-" not in text.words:
        return
    found: dict[str, str] = {}
    for first, second in windows(reading_forms(text.words)[0]):
        words = f"{first} {second}"
        named = [name for name in _NAME.findall(words) if len(name) >= _SHORTEST_NAME and name not in found]
        if named and len(found) < _MOST and _is_takeover(first, second):
            found |= dict.fromkeys(named, words)
    for name, words in found.items():
        why = f"gives orders about {name}, which is a tool of another server"
        yield Finding("other-server", "latent", text.where, why, shortened(words), bare_name(name))


def _is_takeover(first: str, second: str) -> bool:
    words, signals = f"{first} {second}", weigh(first, second).signals
    points = 3 * bool(_TAKES_OVER.search(words)) + 2 * bool(_DISCREDITS.search(words))
    points += sum(signal.points for signal in signals if signal.name != "orders")
    points += bool(_TAKES_RESULT.search(words)) and any(signal.name == "hands" for signal in signals)
    return points >= _ENOUGH
