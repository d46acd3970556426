"""Files of `NAME=value` lines."""

from __future__ import annotations

import re

from toolcrib.config.malformed import Malformed

_NAME = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)")
_QUOTED = re.compile(r""""((?:[^"\\]|\\.)*)"|'([^']*)'""")
_COMMENT = re.compile(r"(?:^|\s)#")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_env_file(text: str) -> dict[str, str]:
    """The variables of such a text; a line that is none raises, naming its number and nothing else of it."""
    variables: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if not line or line.startswith("#"):
            continue
        left, equals, right = line.partition("=")
        name = _NAME.fullmatch(left.rstrip())
        value = _value(right.lstrip())
        if name is None or not equals or value is None:
            raise Malformed("expected NAME=value, found something else", number)
        variables[name[1]] = value
    return variables


def _value(written: str) -> str | None:
    """The value without quotes and comment; None when a quote is left open or followed by more."""
    if not written.startswith(('"', "'")):
        return _without_comment(written)
    quoted = _QUOTED.match(written)
    if quoted is None or _without_comment(written[quoted.end() :]):
        return None
    if quoted[2] is not None:
        return quoted[2]
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), quoted[1])


def _without_comment(text: str) -> str:
    comment = _COMMENT.search(text)
    return (text[: comment.start()] if comment else text).rstrip()
