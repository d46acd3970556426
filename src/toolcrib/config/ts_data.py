"""A TypeScript or JavaScript configuration read as data: one object literal, looked at and never run."""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

from toolcrib.config.malformed import MAX_DEPTH, Malformed

MAX_VALUES = 100_000
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_IMPORT = re.compile(r"import\b(?:[^'\"`;(]*\bfrom)?\s*(?:'[^'\n]*'|\"[^\"\n]*\")\s*;?")
_EXPORT = re.compile(r"export\s+default\b|module\.exports\s*=")
_CALL = re.compile(r"[A-Za-z_$][\w$.]*\s*\(", re.ASCII)
_WORD = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_TYPE_NOTE = re.compile(r"(?:as\s+const|(?:as|satisfies)\s+[A-Za-z_$][\w$.]*(?:<[\w$., ]*>)?)(?![\w$])", re.ASCII)
_NUMBER = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<whole>0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+)"
    r"|(?P<decimal>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?))(?![\w$])",
    re.ASCII,
)
_REGEX = re.compile(r"/(?![*/])(?:[^\\/\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*\])+/[a-z]*")
_PLAIN_TEXT = {
    "'": re.compile(r"[^'\\\n]+"),
    '"': re.compile(r'[^"\\\n]+'),
    "`": re.compile(r"(?:[^`\\$]|\$(?!\{))+"),
}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|(\r\n|[^xu\d\r])|(0)(?!\d))", re.DOTALL
)
_SINGLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "\n": "", "\r\n": ""}
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None}


def parse_ts(text: str) -> Any:
    """The data after `export default`, bare or handed to one function; an empty text is an empty map.

    Anything that would have to be run is refused, with its line and column.
    """
    return _Reading(text).document()


class _Reading:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._depth = 0
        self._count = 0

    def document(self) -> Any:
        self._skip_blank()
        while self._take(_IMPORT):
            self._skip_blank()
        if self._is_at_end():
            return {}
        if not self._take(_EXPORT):
            self._fail("expected export default and an object")
        self._skip_blank()
        data = self._exported()
        self._skip_blank()
        while self._take_text(";"):
            self._skip_blank()
        if not self._is_at_end():
            self._fail("expected nothing after the exported object")
        return data

    def _exported(self) -> Any:
        wrapped = self._take(_CALL)
        self._skip_blank()
        data = self._annotated_value()
        if wrapped:
            self._take_text(",")
            self._skip_blank()
            if not self._take_text(")"):
                self._fail("expected ) after the one object the function is given")
        self._skip_blank()
        self._take(_TYPE_NOTE)
        return data

    def _annotated_value(self) -> Any:
        value = self._value()
        self._skip_blank()
        if self._take(_TYPE_NOTE):
            self._skip_blank()
        return value

    def _value(self) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            self._fail(f"holds more than {MAX_VALUES} values")
        next_character = self._peek()
        if next_character in ("{", "["):
            return self._nested(next_character)
        if next_character in _PLAIN_TEXT:
            return self._string()
        if next_character == "/" and (match := self._take(_REGEX)):
            return match[0]
        if match := self._take(_NUMBER):
            return self._number(match)
        if (match := _WORD.match(self._text, self._position)) and match[0] in _CONSTANTS:
            self._position = match.end()
            return _CONSTANTS[match[0]]
        return self._fail_for_expression()

    def _nested(self, opening: str) -> Any:
        if self._depth >= MAX_DEPTH:
            self._fail(f"is nested deeper than {MAX_DEPTH} levels")
        self._depth += 1
        self._position += 1
        data = self._members() if opening == "{" else self._items()
        self._depth -= 1
        return data

    def _items(self) -> list[Any]:
        items: list[Any] = []
        self._skip_blank()
        while not self._take_text("]"):
            items.append(self._annotated_value())
            self._separate("]")
        return items

    def _members(self) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._skip_blank()
        while not self._take_text("}"):
            start = self._position
            key = self._key()
            if key in members:
                self._position = start
                self._fail(f"has the key '{key}' twice in one object")
            self._skip_blank()
            if not self._take_text(":"):
                self._fail("expected : and a value")
            self._skip_blank()
            members[key] = self._annotated_value()
            self._separate("}")
        return members

    def _key(self) -> str:
        if self._peek() in ("'", '"'):
            return self._string()
        if match := self._take(_WORD):
            return match[0]
        if (match := _NUMBER.match(self._text, self._position)) and not match["sign"]:
            self._position = match.end()
            number = self._number(match)
            return str(int(number)) if number == int(number) else str(number)
        return self._fail("expected a plain key")

    def _separate(self, closing: str) -> None:
        self._skip_blank()
        if self._take_text(","):
            self._skip_blank()
        elif self._peek() != closing:
            self._fail(f"expected , or {closing}")

    def _string(self) -> str:
        start, quote = self._position, self._peek()
        self._position += 1
        pieces = []
        while not self._take_text(quote):
            if match := self._take(_PLAIN_TEXT[quote]):
                pieces.append(match[0])
            elif match := self._take(_ESCAPE):
                pieces.append(self._escaped(match))
            elif self._peek() == "$":
                self._fail("expected a text without substitutions; write a variable as '${NAME}' in quotes")
            elif self._peek() == "\\":
                self._fail("expected an escape that JavaScript knows")
            else:
                self._position = start
                self._fail("expected the closing quote of a text")
        return self._joined(pieces, start)

    def _joined(self, pieces: list[str], start: int) -> str:
        try:
            # Two escapes may be the halves of one character.
            return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._position = start
            self._fail("expected whole characters, found half of one")

    def _escaped(self, match: re.Match[str]) -> str:
        two, four, braced, single, zero = match.groups()
        if zero:
            return "\0"
        if single is not None:
            return _SINGLE_ESCAPES.get(single, single)
        code = int(two or four or braced, 16)
        if code > 0x10FFFF:
            self._fail("expected the code of a character, found a number that is too large")
        return chr(code)

    def _number(self, match: re.Match[str]) -> int | float:
        sign = -1 if match["sign"] == "-" else 1
        try:
            if match["whole"]:
                return sign * int(match["whole"], 0)
            digits = match["decimal"].replace("_", "")
            number = int(digits) if digits.isdigit() else float(digits)
        except ValueError:
            self._position = match.start()
            self._fail("expected a number that can be read")
        if math.isinf(number):
            self._position = match.start()
            self._fail("expected a smaller number, found one that is too large")
        return sign * number

    def _fail_for_expression(self) -> NoReturn:
        if self._text.startswith("process.env", self._position):
            self._fail("expected plain data, found process.env; write '${NAME}', it is filled in when a server starts")
        if self._is_at_end():
            self._fail("expected a value, found the end of the file")
        self._fail("expected plain data, found something that would have to be run")

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._position)
        self._position = match.end() if match else self._position
        if self._text.startswith("/*", self._position):
            self._fail("expected the end of a comment")

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._position)
        if match:
            self._position = match.end()
        return match

    def _take_text(self, text: str) -> bool:
        found = self._text.startswith(text, self._position)
        if found:
            self._position += len(text)
        return found

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _is_at_end(self) -> bool:
        return self._position >= len(self._text)

    def _fail(self, message: str) -> NoReturn:
        line = self._text.count("\n", 0, self._position) + 1
        column = self._position - self._text.rfind("\n", 0, self._position)
        raise Malformed(message, line, column)
