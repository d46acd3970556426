"""How many gateways a process runs inside of: every server that one starts is told."""

from __future__ import annotations

from collections.abc import Mapping

INSIDE = "TOOLCRIB_INSIDE"
# A gateway behind a gateway has its uses; a chain of more is one that starts itself.
DEEPEST = 3


def depth_of(env: Mapping[str, str]) -> int:
    """0 for a process that no gateway started; what can't be read counts as one."""
    stated = env.get(INSIDE, "0")
    return int(stated) if stated.isdecimal() and len(stated) < 10 else 1
