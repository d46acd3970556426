"""One described setting: how it is written, checked and explained, kept beside the attribute that holds it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["flag", "integer", "number", "text", "texts"]
_A_YEAR = 31_536_000


@dataclass(frozen=True, slots=True)
class Scalar:
    """How one setting is written, checked and explained; `name` is its attribute of `Settings`."""

    name: str
    key: str
    kind: Kind
    default: Any
    description: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False
    alias_variable: str = ""
    # Whether a running gateway takes an edit over; else it holds after the next start.
    reloads: bool = True

    @property
    def variable(self) -> str:
        """The environment variable that overrides the file."""
        return "TOOLCRIB_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\.", "_", self.key).upper()


def scalar(key: str, kind: Kind, default: Any, description: str, **more: Any) -> Any:
    """A field of `Settings` with its description."""
    return field(default=default, metadata={"key": key, "kind": kind, "description": description, **more})


def flag(key: str, default: bool, description: str) -> Any:
    """A field that is true or false."""
    return scalar(key, "flag", default, description)


def choice(key: str, choices: tuple[str, ...], description: str) -> Any:
    """A field that is one of a few words, the first by default."""
    return scalar(key, "text", choices[0], description, choices=choices)


def count(key: str, default: int, description: str, minimum: int = 1, **more: Any) -> Any:
    """A field that is a whole number."""
    return scalar(key, "integer", default, description, minimum=minimum, **more)


def size(key: str, default: int, description: str) -> Any:
    """A field that is a number of bytes."""
    return count(key, default, description, unit="bytes")


def seconds(key: str, default: float, description: str, minimum: float = 0.01, **more: Any) -> Any:
    """A field that is a time."""
    return scalar(key, "number", default, description, unit="seconds", minimum=minimum, maximum=_A_YEAR, **more)
