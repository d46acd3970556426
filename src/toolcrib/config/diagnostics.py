"""What is found wrong while reading: collected, so that one reading reports all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolcrib.config.values import join
from toolcrib.errors import Problem


@dataclass(slots=True)
class Findings:
    """`fatal` makes the whole file unusable, `problems` cost one entry, `warnings` cost nothing."""

    fatal: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, where: str, message: str, source: str) -> None:
        self.fatal.append(Problem(where, message, source))

    def skip(self, where: str, message: str, source: str) -> None:
        self.problems.append(Problem(where, message, source))

    def warn(self, *warnings: str) -> None:
        self.warnings.extend(warnings)

    def warn_of_keys(self, unknown: Iterable[tuple[str, str]], where: str, source: str) -> None:
        self.warnings.extend(str(Problem(join(where, key), message, source)) for key, message in unknown)
