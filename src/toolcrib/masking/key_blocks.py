"""Private keys that come line by line: covered from their first line up to their last one."""

from __future__ import annotations

import re
from copy import copy
from typing import Self

from toolcrib.masking.spans import MASK

_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY-----")
# The longest keys in use have a hundred and thirty lines. Whoever only speaks of a key loses no more than that.
MOST_LINES = 150


class KeyBlocks:
    """Covers keys in lines that come one after the other, and remembers that one has begun."""

    def __init__(self) -> None:
        self._lines_left = 0

    def covered(self, text: str) -> str:
        """These lines without the keys in them; what begins and ends on one line is left to those who look at the shape."""
        if not self._lines_left and "-----BEGIN " not in text:
            return text
        return "".join(map(self._covered_line, text.splitlines(keepends=True)))

    def now(self) -> Self:
        """One that goes on from here, for lines that may come again."""
        return copy(self)

    def _covered_line(self, line: str) -> str:
        if self._lines_left:
            line = self._after_key(line)
        begun = list(_BEGIN.finditer(line))
        if not begun or _END.search(line, begun[-1].end()):
            return line
        self._lines_left = MOST_LINES
        return line[: begun[-1].start()] + MASK + line[len(line.rstrip("\r\n")) :]

    def _after_key(self, line: str) -> str:
        end = _END.search(line)
        if end is None:
            self._lines_left -= 1
            return ""
        self._lines_left = 0
        rest = line[end.end() :]
        return rest if rest.strip() else ""
