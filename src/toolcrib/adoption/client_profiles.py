"""A profile for each client that is adopted: what it had before, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from toolcrib.adoption.plan import Move

Profiles = Mapping[str, Mapping[str, Any]]


def free_profile(client: str, taken: Collection[str]) -> str:
    """The name of a client's profile: its own, unless a person gave that to another one."""
    names = itertools.chain([client], (f"{client}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def profile_of(moves: Iterable[Move]) -> dict[str, Any]:
    """The profile that allows the servers that move, with the lists of tools that the client had for each."""
    found = list(moves)
    servers = list(dict.fromkeys(move.name for move in found))
    rules = [rule for move in found for rule in _rules(move)]
    return {"servers": servers, **({"toolRules": rules} if rules else {})}


def extended(profile: Mapping[str, Any], moves: Iterable[Move]) -> dict[str, Any]:
    """The profile of a client from which more servers move: it sees these too."""
    grown = dict(profile)
    for key, more in profile_of(moves).items():
        there = profile.get(key)
        # Without `servers` it allows all of them already.
        if isinstance(there, list) or (there is None and key != "servers"):
            grown[key] = [*(there or ()), *(one for one in more if one not in (there or ()))]
    return grown


def _rules(move: Move) -> Iterator[dict[str, Any]]:
    spec = move.listed.spec
    if spec is None:
        return
    if spec.deny_tools:
        yield {"server": move.name, "pattern": list(spec.deny_tools), "enabled": False}
    if spec.allow_tools is not None:
        others = [f"!{name}" for name in spec.allow_tools] or ["*"]
        yield {"server": move.name, "pattern": others, "enabled": False}
