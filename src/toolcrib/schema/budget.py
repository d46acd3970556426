"""How much work one check may cost: steps, and time spent in regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolcrib.foreign_regex import BadExpression, compile_foreign


class Unusable(Exception):
    """A schema, or one check against it, that cannot be brought to an end; the message says why."""


class Budget:
    """What is left for one check; runs out by raising Unusable."""

    def __init__(self, steps: int, regex_seconds: float, now: Callable[[], float]) -> None:
        self._steps = steps
        self._regex_seconds = regex_seconds
        self._now = now

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise Unusable("checking the arguments against the schema takes too many steps")

    def search(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text, within the time left for all patterns of this check."""
        compiled = _compiled(pattern)
        started = self._now()
        try:
            if self._regex_seconds <= 0:
                raise TimeoutError
            return compiled.search(text, timeout=self._regex_seconds) is not None
        except TimeoutError:
            raise Unusable(f"the pattern {pattern[:60]!r} takes too long") from None
        finally:
            self._regex_seconds -= self._now() - started


def _compiled(pattern: str) -> Any:
    try:
        return compile_foreign(pattern)
    except BadExpression as problem:
        raise Unusable(f"the pattern {pattern[:60]!r} {problem}") from None
