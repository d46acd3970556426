"""What somebody who reads definitions with suspicion finds in one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

# hard: kept away until a person has looked at it; soft: shown to whoever looks; latent: hard where another server has a tool
# of the name that it is about, and nothing otherwise.
Level = Literal["hard", "soft", "latent"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a definition should not have; `where` is a JSON pointer into it, `excerpt` is cleaned and short.

    `about` is the name of a tool of somebody else, in the form of `bare_name`, for findings that are or were latent.
    """

    rule: str
    level: Level
    where: str
    why: str
    excerpt: str = ""
    about: str = ""

    @property
    def is_hard(self) -> bool:
        return self.level == "hard"

    @property
    def is_latent(self) -> bool:
        return self.level == "latent"


# All of ASCII but digits and small letters.
_SEPARATORS = re.compile(r"[\x00-/:-`{-\x7f]+")


def bare_name(name: str) -> str:
    """A name without what programs spell differently: case and separators."""
    return _SEPARATORS.sub("", name.lower())
