"""The values an RTFS text is made of; each remembers where it stood, which does not count when two are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

MAX_DIGITS = 400

Kind = OneOf["nil", "bool", "int", "float", "string", "keyword", "timestamp", "uuid"]
Scalar: TypeAlias = str | int | float | bool | None

_SPECIAL_FLOATS = {"inf": "##Inf", "-inf": "##-Inf", "nan": "##NaN"}
_FLOATS_BY_NAME = {name: float(text) for text, name in _SPECIAL_FLOATS.items()}


@dataclass(frozen=True, slots=True)
class Literal:
    """One scalar. `text` is the string or keyword itself, else the canonical spelling: so 1, 1.0 and true differ."""

    kind: Kind
    text: str
    at: int = field(default=0, compare=False)

    @property
    def value(self) -> Scalar:
        """The nearest Python value; keywords, timestamps and uuids are their text."""
        if self.kind == "nil":
            return None
        if self.kind == "bool":
            return self.text == "true"
        if self.kind == "int":
            return int(self.text)
        if self.kind == "float":
            return _FLOATS_BY_NAME[self.text] if self.text in _FLOATS_BY_NAME else float(self.text)
        return self.text


@dataclass(frozen=True, slots=True)
class Symbol:
    """A bare word."""

    name: str
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class VectorForm:
    """`[…]`."""

    items: tuple[Form, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ListForm:
    """`(…)`."""

    items: tuple[Form, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class MapForm:
    """`{…}`, as a plain row of forms: in types a `?` may follow a pair."""

    items: tuple[Form, ...]
    at: int = field(default=0, compare=False)


Form: TypeAlias = Literal | Symbol | VectorForm | ListForm | MapForm


class Misplaced(Exception):
    """A form that does not belong where it stands; `at` is its offset in the text."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def literal(value: Scalar, at: int = 0) -> Literal:
    """The literal for a plain Python value; raises ValueError for a number of more than 400 digits."""
    if value is None:
        return Literal("nil", "nil", at)
    if isinstance(value, bool):
        return Literal("bool", "true" if value else "false", at)
    if isinstance(value, int):
        if value.bit_length() > MAX_DIGITS * math.log2(10):
            raise ValueError(f"the number has more than {MAX_DIGITS} digits")
        return Literal("int", str(value), at)
    if isinstance(value, float):
        return Literal("float", _float_text(value), at)
    return Literal("string", value, at)


def keyword(name: str, at: int = 0) -> Literal:
    return Literal("keyword", name, at)


def _float_text(value: float) -> str:
    text = repr(value)
    if text in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[text]
    whole, exponent_mark, exponent = text.partition("e")
    # The language wants digits on both sides of the point: 1e+22 is 1.0e+22.
    return f"{whole if '.' in whole else f'{whole}.0'}{exponent_mark}{exponent}"
