"""Links that run code, and pictures whose address would carry data away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolcrib.model.finding import Finding, Level
from toolcrib.scanner.excerpts import excerpt
from toolcrib.scanner.quoting import is_only_named
from toolcrib.scanner.reading_form import MOST_CHARACTERS
from toolcrib.scanner.texts import Text

# The address of a link: no words around it make that harmless.
_RUNS_CODE = re.compile(
    r"(?:\]\(|=)[\s\"'<]{0,5}(?:(?:javascript|vbscript)\s{0,5}:|data:text/html)|^\s{0,5}(?:javascript|vbscript):|<(?:javascript|vbscript):"
    r"|[\s\"'(](?:javascript|vbscript):[^\s\"'`]{0,60}\(",
    re.IGNORECASE,
)
_ACTS = re.compile(
    r"<[a-z]{1,10}\s[^<>]{0,200}\bon(?:error|load|click|mouseover|focus)\s{0,3}=|\bdata:text/html", re.IGNORECASE
)
_PICTURE = re.compile(
    r"!\[[^\]\n]{0,200}\]\(\s{0,5}(https?://[^)\s]{0,400})|<img\s[^<>]{0,200}?src=[\"']?(https?://[^<>\s\"']{0,400})",
    re.IGNORECASE,
)
# Where the query of an address has room for something, or ends open.
_ROOM = re.compile(r"\?.*(?:[{$<\[]|=$)")
_LOCAL = re.compile(r"\]\(\s{0,5}file:|href\s{0,3}=\s{0,3}[\"']?file:", re.IGNORECASE)


def links(text: Text) -> Iterator[Finding]:
    words = text.words[:MOST_CHARACTERS]
    if ":" not in words and "<" not in words:
        return
    if found := _RUNS_CODE.search(words):
        level: Level = "soft" if text.is_value else "hard"
        yield Finding("link", level, text.where, "has a link that runs code", excerpt(words, found))
    elif found := _ACTS.search(words):
        level = "soft" if text.is_value or is_only_named(words.lower(), found) else "hard"
        yield Finding("link", level, text.where, "has an element that runs code", excerpt(words, found))
    if "![" in words or "<img" in words:
        yield from _pictures(text.where, words)
    if found := _LOCAL.search(words):
        yield Finding("link", "soft", text.where, "links to a file on this machine", excerpt(words, found))


def _pictures(where: str, words: str) -> Iterator[Finding]:
    for found in _PICTURE.finditer(words):
        if _ROOM.search(found[1] or found[2]):
            why = "has a picture whose address would carry data away"
            yield Finding("link", "hard", where, why, excerpt(words, found))
            return
