"""Several changes made as one: all of them or none, and each looked at before and after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from toolcrib.errors import ConfigurationError, Problem

Replace = Callable[[Path, Path], None]
_HALF_DONE = "Not everything could be put back: run `toolcrib release` to put back the rest."


@dataclass(frozen=True, slots=True)
class Placing:
    """How a new file takes the place of the old one; the tag is in the name it has until then."""

    tag: str = ""
    replace: Replace = os.replace


class Step(Protocol):
    """One change. What goes wrong with it is a ConfigurationError or an OSError."""

    @property
    def path(self) -> Path:
        """The file that is changed, for messages."""
        ...

    @property
    def changes_something(self) -> bool: ...

    def check(self) -> None:
        """Raise unless everything is still as it was when this was planned."""
        ...

    def apply(self, placing: Placing) -> None: ...

    def verify(self) -> None:
        """Raise unless everything is now as it was planned to be."""
        ...

    def undo(self, placing: Placing) -> None:
        """Put back what was there; raise when someone else has written since."""
        ...


def take_all(steps: Iterable[Step], *, then: Iterable[Step] = (), placing: Placing) -> None:
    """Take the steps in this order and, once all of them hold, those of `then`; at the first trouble undo what was done.

    Steps that change nothing are checked and verified too: the plan relies on what they stand for.
    """
    first, last = list(steps), list(then)
    for step in (*first, *last):
        step.check()
    done: list[Step] = []
    try:
        for part in (first, last):
            for step in part:
                step.check()
                if step.changes_something:
                    done.append(step)
                    step.apply(placing)
            for step in part:
                step.verify()
    except BaseException as error:
        if not _all_undone(done, placing):
            raise ConfigurationError(_problems(error, done), hint=_HALF_DONE) from None
        if isinstance(error, OSError):
            raise ConfigurationError(_problems(error, done)) from None
        raise


def trouble(path: Path, message: str) -> ConfigurationError:
    return ConfigurationError([Problem("", message, str(path))])


def _all_undone(done: list[Step], placing: Placing) -> bool:
    """Undo from the end, and stop at what can't be undone: the journal came before it, and is still needed then."""
    try:
        for step in reversed(done):
            step.undo(placing)
    except (OSError, ConfigurationError):
        return False
    return True


def _problems(error: BaseException, done: list[Step]) -> Sequence[Problem]:
    if isinstance(error, ConfigurationError):
        return error.problems
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else "interrupted"
    return [Problem("", f"cannot be written: {reason}", str(done[-1].path) if done else "")]
