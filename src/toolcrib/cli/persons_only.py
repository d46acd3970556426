"""Commands that decide what is trusted: a server that Toolcrib started, or what it starts in turn, may not run them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from toolcrib.config.inside import depth_of
from toolcrib.errors import ApprovalRefused

# The commands, and of some of them only these actions.
_DECIDING: Mapping[str, frozenset[str]] = {
    "trust": frozenset(),
    "add": frozenset(),
    "adopt": frozenset(),
    "release": frozenset(),
    "enable": frozenset(),
    "approvals": frozenset({"approve", "reject"}),
    "peers": frozenset({"trust"}),
    "token": frozenset({"create"}),
}


def require_person(options: argparse.Namespace, env: Mapping[str, str]) -> None:
    """Raise where a command that only a person may run comes from inside of a server of ours."""
    deciding = _deciding(options)
    if not deciding or not depth_of(env):
        return
    raise ApprovalRefused(
        f"`toolcrib {deciding}` was not run: it came from a server that Toolcrib started, not from a person",
        hint="Run it yourself, in a terminal outside of the agent.",
    )


def _deciding(options: argparse.Namespace) -> str:
    """The command, if it decides something; a yes to a call that has to be confirmed does."""
    command = options.command or ""
    if command == "execute":
        return "execute --yes" if options.yes else ""
    actions = _DECIDING.get(command)
    is_one = actions is not None and (not actions or getattr(options, "action", "") in actions)
    return command if is_one else ""
