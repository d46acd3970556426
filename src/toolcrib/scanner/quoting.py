"""Texts about attacks: what they quote as an example, or report of others, is no order of their own.

One everyday word is not enough for that, or every attack would have it. The phrase has to be the object of words that
speak of detection or examples, close to it, and nothing around it may ask to do what it says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_VERB = (
    r"(?:detect|scan|find|flag|check|block|prevent|saniti[sz]e|filter|classif(?:y|ie)|analy[sz]e|audit|warn|protect|defend|test|identif(?:y|ie)|reject|refuse"
    r"|explain|describe|decode|escape|strip|explore|simulate|monitor|look|recogni[sz]e|catche?|search|report|mark|remove|score|list|run)"
)
_ABOUT = re.compile(
    rf"\b{_VERB}(?:s|ed|ing)?\b|\b(?:injections?|injected|jailbreaks?|attacks?|attackers?|attempts?|malicious|phishing|spam|suspicious|dangerous|harmful)\b"
    r"|\b(?:patterns?|phrases|test prompts|reverse shells|install scripts)\b|\bred[- ]?team"
)
# What may stand right before a quoted phrase so that it is the object of those words.
_NAMES_IT = re.compile(
    r"(?:\b(?:like|such as|as|e\.g\.|i\.e\.|for example|for instance|including|through|about|against|for|why|says?|saying|that says|contain(?:s|ing)?|whether|how"
    rf"|(?:phrase|text|pattern|string|word|message|prompt|request|command|order|link|line|payload)s?|{_VERB}s)[ ,:(]{{0,3}}|\b(?:run|type|execute) commands like )$"
)
_LISTED = re.compile(r"""["'`],? ?(?:(?:and|or|and/or)(?: even| also)? )?$""")
# An order to do what is quoted stands right before it, as the verb of its clause, ...
_ORDERS_BEFORE = re.compile(
    r"(?:^|[,;:!?] |\. |\b(?:then|please|first|now|and|must|should|shall|you|always) )(?:run|execute|obey|follow|do|perform|paste|type|enter|launch|invoke|send|say"
    r"|call|start|begin|use|open|apply|remember|ask|tell|answer|reply|act|treat|comply)(?:ning|ting|ing)?\b[^\"'`]{0,60}$"
)
# ... or after it.
_ORDERS_AFTER = re.compile(
    r"\b(?:do (?:so|it|that|this|what|exactly|as|the same|likewise)|obey|comply|follow (?:it|them|this|that|these|those|what)|(?:act|acts) (?:on|upon|like|accordingly)|heed"
    r"|carry (?:it|this|them|that) out|(?:execute|run|perform|apply) (?:it|this|them|that|these|those)|is (?:your|an order|what you|meant)|means what"
    r"|you (?:must|shall|have to|should|need to|will|are)|applies|hold(?:s)? (?:for|true)|take (?:it|this|that) (?:as|literally|seriously)|and mean it)\b"
)
_QUOTED = re.compile(r"\"[^\"]{0,400}\"|`[^`]{0,400}`|(?<!\w)'(?:[^']|(?<=\w)'(?=\w)){0,400}'(?!\w)")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc)\.$")
_SENTENCE_END = re.compile(r"[.!?;] |\n")
_CLOSE = 120
_MOST_QUOTED = 500
# Somebody else's deed: "checks whether a prompt tries to …", with nothing between that could begin another thought.
_REPORTS = re.compile(
    rf"(?:^|[.!?;] |\n)\W{{0,3}}(?:(?:this|the) (?:tool|server|function) |it )?{_VERB}s\b[^,;:.!?\n\"'`]{{0,80}}"
    r"\b(?:tr(?:y|ies|ying) to|attempts? to|attempting to|asks?|asked|wants?|ways to|orders?|tells?|make|making)\b[^,;:.!?\n\"'`]{0,60}$"
)
_REPORTED_COMMAND = re.compile(
    rf"(?:^|[.!?;] |\n)\W{{0,3}}(?:(?:this|the) (?:tool|server|function) |it )?{_VERB}s\b[^,;:.!?\n\"'`]{{0,80}}\b(?:commands|shells|scripts|downloads) (?:like|such as) [^,;:.!?\n\"'`]{{0,30}}$"
)
_TO_THE_MODEL = re.compile(r"\byou\b|\byourself\b")


@dataclass(frozen=True, slots=True)
class Named:
    """The part of a text in which something is only named; several things in one part are named together."""

    start: int
    end: int


def is_only_named(words: str, found: re.Match[str]) -> Named | None:
    """Where a text only quotes or reports what was found in it, if it does."""
    quoted = _quotation(words, found.start(), found.end())
    if quoted is not None:
        return quoted if _is_example(words, quoted) else None
    return _report(words, found, _REPORTS)


def is_named_command(words: str, found: re.Match[str]) -> bool:
    """The same for a shell command, which needs no quotation marks after "blocks commands like"."""
    return is_only_named(words, found) is not None or _report(words, found, _REPORTED_COMMAND) is not None


def _quotation(words: str, start: int, end: int) -> Named | None:
    for quoted in _QUOTED.finditer(words, max(0, start - _MOST_QUOTED), end + _MOST_QUOTED):
        if quoted.start() < end and start < quoted.end():
            # A few words of the match may stand outside, such as the space before it.
            inside = quoted.start() <= start + 1 and end <= quoted.end() + 1
            return Named(*quoted.span()) if inside else None
    return None


def _is_example(words: str, quoted: Named) -> bool:
    sentence = _sentence_before(words, quoted.start)
    opening = sentence
    while listed := _LISTED.search(opening):
        before = opening[: listed.start()]
        mark = before.rfind(listed[0][0])
        if mark < 0:
            break
        opening = before[:mark]
    # The next example in a list says nothing about this one.
    after = _QUOTED.sub(" ", words[quoted.end : quoted.end + _CLOSE])
    return (
        _ABOUT.search(sentence) is not None
        and _NAMES_IT.search(opening) is not None
        and _ORDERS_BEFORE.search(opening) is None
        and _ORDERS_AFTER.search(after) is None
    )


def _report(words: str, found: re.Match[str], reports: re.Pattern[str]) -> Named | None:
    before = words[max(0, found.start() - 2 * _CLOSE) : found.start()]
    if not (report := reports.search(before)) or _TO_THE_MODEL.search(report[0]):
        return None
    if _ORDERS_AFTER.search(words[found.end() : found.end() + _CLOSE]):
        return None
    at = found.start() - len(report[0])
    return Named(at, at)


def _sentence_before(words: str, at: int) -> str:
    """What stands before a place in its own sentence, or the last of it."""
    before = words[max(0, at - 2 * _CLOSE) : at]
    ends = [end.end() for end in _SENTENCE_END.finditer(before) if not _ABBREVIATION.search(before[: end.start() + 1])]
    return before[ends[-1] :] if ends else before
