"""Files of `NAME=value` lines."""

from __future__ import annotations

import re

from toolcrib.config.malformed import Malformed

_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*)\s*=\s*
        (?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>[^']*)' | (?P<plain>[^"'\s].*?|) )
        \s*(?:(?<=\s)\#.*)?$""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_env_file(text: str) -> dict[str, str]:
    """The variables of such a text; a line that is none raises, naming its number and nothing else of it."""
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise Malformed("expected NAME=value, found something else", number)
        variables[match["name"]] = _value(match)
    return variables


def _value(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), match["double"])
    return match["single"] if match["single"] is not None else match["plain"]
