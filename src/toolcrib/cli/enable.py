"""`toolcrib enable`: a server of our own file is offered again."""

from __future__ import annotations

import argparse

from toolcrib.adoption.writes import FileWrite, write_all
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import perform, say, show_json, site_of, tilde


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: switch(options, enabled=True))


def switch(options: argparse.Namespace, *, enabled: bool) -> int:
    """Write whether a server is offered."""
    own = site_of(options).own_file()
    write_all([FileWrite(own.path, own.content, own.with_enabled(options.name, enabled))])
    if options.json:
        show_json({"success": True, "name": options.name, "enabled": enabled, "config": str(own.path)})
    else:
        say(f"{options.name} is {'enabled' if enabled else 'disabled'} in {tilde(own.path)}")
    return OK
