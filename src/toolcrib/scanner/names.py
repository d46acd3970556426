"""Names that look like other names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.model.finding import Finding, Level, bare_name
from toolcrib.scanner.excerpts import shortened
from toolcrib.scanner.reading_form import folded

# What Toolcrib itself offers to clients; nothing of a server should pass for it.
OUR_OWN = frozenset(
    {"list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool", "execute_read_only"}
)
_LOOK_ALIKE_SCRIPTS = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
# Shorter names look alike by chance.
_SHORTEST = 5
_DIGITS = str.maketrans("01", "ol")


def _readings(name: str) -> set[str]:
    """What a reader could take a name for, in its bare form."""
    plain = bare_name(folded(name))
    letters = plain.translate(_DIGITS)
    return {plain, letters, letters.replace("rn", "m")}


_OURS = {bare_name(name) for name in OUR_OWN}


def own_name(definition: Mapping[str, Any]) -> str:
    name = definition.get("name")
    return name if isinstance(name, str) else ""


def odd_name(definition: Mapping[str, Any]) -> Iterator[Finding]:
    """A name with letters of several scripts, one of ours, or one that may pass for another server's."""
    name = own_name(definition)
    others = _readings(name) - {bare_name(name)}
    if _mixes_scripts(name):
        yield _finding("hard", "mixes letters of several alphabets that look alike", name)
    elif name in OUR_OWN:
        yield _finding("soft", "is named like a tool of Toolcrib itself", name)
    elif others & _OURS:
        yield _finding("hard", "looks like the name of a tool of Toolcrib itself", name)
    else:
        for other in sorted(one for one in others if len(one) >= _SHORTEST):
            yield _finding("latent", "looks like the name of a tool of another server", name, other)


def _finding(level: Level, why: str, name: str, about: str = "") -> Finding:
    return Finding("impersonation", level, "/name", why, shortened(name), about)


def _mixes_scripts(name: str) -> bool:
    if name.isascii():
        return False
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in name if letter.isalpha()}
    return "LATIN" in scripts and bool(scripts & _LOOK_ALIKE_SCRIPTS)
