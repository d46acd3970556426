"""URI templates (RFC 6570, levels 1 to 3): which variables one has, filling them in, and which addresses it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

MOST_CHARACTERS = 2_048
MOST_EXPRESSIONS = 32
# Nobody asks for longer ones in earnest.
MOST_ADDRESS_CHARACTERS = 8_192
_PARSED_TEMPLATES = 512
_READ_ADDRESSES = 16

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_NAMES = re.compile(r"[A-Za-z0-9_.%]+(?:,[A-Za-z0-9_.%]+)*")
_RESERVED = ":/?#[]@!$&'()*+,;="
_SEPARATORS = "/?#"


class OddTemplate(ValueError):
    """A template that uses more than we fill in."""


@dataclass(frozen=True, slots=True)
class _Style:
    """How the values of one kind of expression are written: what begins them, and what stands between two."""

    first: str = ""
    between: str = ","
    is_named: bool = False
    bare_name: str = "="
    keeps_reserved: bool = False
    is_optional: bool = False
    stays_in_segment: bool = False


_STYLES = {
    "": _Style(stays_in_segment=True),
    "+": _Style(keeps_reserved=True),
    "#": _Style("#", keeps_reserved=True),
    ".": _Style(".", ".", stays_in_segment=True),
    "/": _Style("/", "/"),
    ";": _Style(";", ";", is_named=True, bare_name="", is_optional=True),
    "?": _Style("?", "&", is_named=True, is_optional=True),
    "&": _Style("&", "&", is_named=True, is_optional=True),
}


@dataclass(frozen=True, slots=True)
class _Expression:
    style: _Style
    names: tuple[str, ...]

    def filled(self, values: Mapping[str, str]) -> str:
        given = [(name, values[name]) for name in self.names if name in values]
        return self.style.first + self.style.between.join(self._written(*one) for one in given) if given else ""

    def _written(self, name: str, value: str) -> str:
        text = quote(value, safe=f"{_RESERVED}%" if self.style.keeps_reserved else "")
        return f"{name}{'=' if text else self.style.bare_name}{text}" if self.style.is_named else text


_Part = str | _Expression


def variables(template: str) -> dict[str, bool]:
    """The names of a template's variables in order, and whether each must be given; raises OddTemplate."""
    needed: dict[str, bool] = {}
    for part in _parsed(template):
        if isinstance(part, _Expression):
            needed |= {name: needed.get(name, False) or not part.style.is_optional for name in part.names}
    return needed


def expanded(template: str, values: Mapping[str, str]) -> str:
    """The address that a template gives with these values; a variable without one is left out. Raises OddTemplate."""
    return "".join(part if isinstance(part, str) else part.filled(values) for part in _parsed(template))


def matches(template: str, uri: str) -> bool:
    """Whether an address may be one of the template's; of an odd or very long one, whether it begins alike.

    Rather too often than too seldom: who may not use a template must not get what it stands for in another way.
    """
    beginning = template.partition("{")[0]
    if not uri.startswith(beginning):
        return False
    try:
        parts = _parsed(template)
    except OddTemplate:
        return True
    return len(uri) > MOST_ADDRESS_CHARACTERS or _address(uri).fits(parts)


@dataclass(frozen=True, slots=True)
class _Address:
    """An address whose places are the bits of numbers, so that all places are looked at in one step.

    A hostile template could otherwise hold everybody up: there may be thousands, each with many ways to fit.
    """

    length: int
    characters: Mapping[str, int]
    in_segments: int

    def fits(self, parts: Iterable[_Part]) -> bool:
        places = 1  # up to which the parts so far may reach
        for part in parts:
            places = self._after_text(part, places) if isinstance(part, str) else self._after(part.style, places)
            if not places:
                return False
        return bool(places >> self.length)

    def _after_text(self, text: str, places: int) -> int:
        for character in text:
            places = (places & self.characters.get(character, 0)) << 1
            if not places:
                break
        return places

    def _after(self, style: _Style, places: int) -> int:
        if style.stays_in_segment:
            # The sum carries each place on to the end of its segment.
            return (((places & self.in_segments) + self.in_segments) ^ self.in_segments) | places
        first = places & -places
        return ((2 << self.length) - 1) & -first


@lru_cache(maxsize=_READ_ADDRESSES)
def _address(uri: str) -> _Address:
    characters: dict[str, int] = {}
    for place, character in enumerate(uri):
        characters[character] = characters.get(character, 0) | 1 << place
    separators = sum(characters.get(one, 0) for one in _SEPARATORS)
    return _Address(len(uri), characters, ((1 << len(uri)) - 1) ^ separators)


@lru_cache(maxsize=_PARSED_TEMPLATES)
def _parsed(template: str) -> tuple[_Part, ...]:
    if len(template) > MOST_CHARACTERS:
        raise OddTemplate(f"it has more than {MOST_CHARACTERS} characters")
    parts = tuple(_parts(template))
    if sum(isinstance(part, _Expression) for part in parts) > MOST_EXPRESSIONS:
        raise OddTemplate(f"it has more than {MOST_EXPRESSIONS} variables")
    return parts


def _parts(template: str) -> Iterator[_Part]:
    begin = 0
    for found in _EXPRESSION.finditer(template):
        yield _literal(template[begin : found.start()])
        operator, names = found.groups()
        if not _NAMES.fullmatch(names):
            raise OddTemplate(f"{found[0]} is a form that can't be filled in")
        yield _Expression(_STYLES[operator], tuple(names.split(",")))
        begin = found.end()
    yield _literal(template[begin:])


def _literal(text: str) -> str:
    if "{" in text or "}" in text:
        raise OddTemplate("its braces do not fit together")
    return text
