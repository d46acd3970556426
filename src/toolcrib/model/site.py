"""Where a client stands: what its servers would find if it started them itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Site:
    """The variables and the working directory of a client; None is the folder of our own process."""

    env: Mapping[str, str] = field(repr=False)
    folder: str | None = None
