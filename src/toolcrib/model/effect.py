"""What a call of a tool may do to the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from toolcrib.model.verbs import destroys, may_destroy, name_refusal, without_server

# Each may do what those before it do.
Effect = Literal["read", "write", "destructive"]
EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive")

# Which calls a person confirms first; each asks about what those before it do, and more.
Confirm = Literal["never", "destructive", "writes"]
CONFIRMS: tuple[Confirm, ...] = ("never", "destructive", "writes")


def is_asked_about(effect: Effect, confirm: Confirm) -> bool:
    """Whether a person confirms calls with this effect."""
    return confirm != "never" and (effect == "destructive" or (effect == "write" and confirm == "writes"))


def stricter(one: Confirm, other: Confirm) -> Confirm:
    return max(one, other, key=CONFIRMS.index)


def says_it_destroys(hints: Mapping[str, Any]) -> bool:
    """Whether a server says so; of a hint that is neither `true` nor `false`, not even 0 or 1, the worse counts."""
    harms = hints.get("destructiveHint")
    return harms is not None and harms is not False


def effect_of(name: str, hints: Mapping[str, Any], server: str = "") -> Effect:
    """What the server's hints say, or the name where they say nothing; where the two differ, the stricter counts.

    The protocol takes a tool without hints for destructive. Most tools have none, so their names are read instead, without
    the name of the `server` that some begin with.
    """
    name = without_server(name, server)
    reads = hints.get("readOnlyHint")
    if says_it_destroys(hints) or destroys(name):
        return "destructive"
    if reads is True:
        return "read"
    if hints.get("destructiveHint") is not False and may_destroy(name):
        return "destructive"
    return "write" if reads is not None or name_refusal(name) else "read"
