"""What came of checking a call's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolcrib.errors import Problem
from toolcrib.schema.coerce import Place


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with the arguments; `not_checked` says why they could not be judged, and then they pass.

    `meant` has the places where a text stands for a value of another type, with the JSON of that value, and those where a null
    stands for nothing (`LEFT_OUT`).
    """

    problems: tuple[Problem, ...] = ()
    not_checked: str = ""
    meant: Mapping[Place, str] = field(default_factory=dict)


VALID = Verdict()
