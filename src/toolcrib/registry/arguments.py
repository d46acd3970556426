"""Declared arguments as pieces of a command line, also where an entry squeezed flag and value into one text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolcrib.registry import grammar
from toolcrib.registry.asking import Asking, literal
from toolcrib.registry.entry import Argument, Input

_FLAG_AND_VALUE = re.compile(r"(-[^\s=]*(?:=|(?=\s)))(.+)", re.DOTALL)
_TRUE = frozenset({"true", "1", "yes"})
_FALSE = frozenset({"false", "0", "no"})


@dataclass(frozen=True, slots=True)
class Piece:
    """One argument: a flag, a value, or both; `flag` ends with `=` where the value is joined to it."""

    flag: str = ""
    value: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The elements of the argument vector."""
        if not self.flag:
            return () if self.value is None else (self.value,)
        if self.value is None:
            return (self.flag.removesuffix("="),)
        return (self.flag + self.value,) if self.flag.endswith("=") else (self.flag, self.value)


def pieces(arguments: Iterable[Argument], asking: Asking) -> list[Piece]:
    """The arguments that take part, in order; optional ones that nobody set are left out."""
    made = (_piece(number, argument, asking) for number, argument in enumerate(arguments, start=1))
    return [piece for piece in made if piece is not None]


def words(found: Iterable[Piece]) -> list[str]:
    return [word for piece in found for word in piece.words]


def _piece(number: int, argument: Argument, asking: Asking) -> Piece | None:
    if not has_flag(argument):
        name = argument.value_hint or argument.input.name or f"argument {number}"
        value = asking.text(argument.input, asking.variable(_short(name, number)), f"argument {number}")
        return None if value is None else Piece(value=value)
    flag, given = flag_and_value(argument.input)
    if given is None:
        return Piece(flag)
    if given.format == "boolean":
        return _switch(flag, given)
    value = asking.text(given, asking.variable(flag), f"the argument {flag.removesuffix('=')}")
    return None if value is None else Piece(flag, value)


def has_flag(argument: Argument) -> bool:
    """Whether it is a flag, also where an entry calls `-v a:b` positional."""
    return argument.is_named or (argument.input.value.startswith("-") and " " in argument.input.value)


def flag_and_value(given: Input) -> tuple[str, Input | None]:
    """The flag, and what its value is; None where the flag stands alone."""
    text = given.name or given.value
    match = _FLAG_AND_VALUE.fullmatch(text)
    flag, rest = grammar.flag(match[1] if match else text), match[2] if match else ""
    value, default = (_without_flag(flag, text, own) for own in (given.value, given.default))
    value = value or rest.strip()
    if not value and not default and text in (given.value, given.default):
        return flag, None
    return flag, replace(given, value=value, default=default)


def _without_flag(flag: str, text: str, own: str) -> str:
    """A value that repeats its flag, without it."""
    if own in (text, flag):
        return ""
    return own.removeprefix(f"{flag} ").removeprefix(f"{flag}=").strip()


def _switch(flag: str, given: Input) -> Piece | None:
    chosen = (given.value or given.default).lower()
    if chosen in _TRUE or (not chosen and given.is_required):
        return Piece(flag)
    return None if not chosen or chosen in _FALSE else Piece(flag, literal(chosen))


def _short(name: str, number: int) -> str:
    return name if len(name) <= 40 and "/" not in name and " " not in name else f"argument_{number}"
