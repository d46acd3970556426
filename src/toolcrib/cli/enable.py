"""`toolcrib enable`: a server of our own file is offered again."""

from __future__ import annotations

import argparse

from toolcrib.cli.exits import OK
from toolcrib.cli.moving import edit_own_file, perform, say, show_json, tilde


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: switch(options, enabled=True))


def switch(options: argparse.Namespace, *, enabled: bool) -> int:
    """Write whether a server is offered."""
    own = edit_own_file(options, lambda own: own.with_enabled(options.name, enabled))
    if options.json:
        show_json({"success": True, "name": options.name, "enabled": enabled, "config": str(own.path)})
    else:
        say(f"{options.name} is {'enabled' if enabled else 'disabled'} in {tilde(own.path)}")
    return OK
