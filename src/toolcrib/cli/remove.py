"""`toolcrib remove`: a server leaves our own file."""

from __future__ import annotations

import argparse

from toolcrib.adoption.own_file import OwnFile
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import edit_own_file, perform, say, show_json, tilde


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _remove(options))


def _remove(options: argparse.Namespace) -> int:
    own = edit_own_file(options, lambda own: _without_server(own, options.name))
    if options.json:
        show_json({"success": True, "name": options.name, "config": str(own.path)})
    else:
        say(f"{options.name} is no longer in {tilde(own.path)}")
    return OK


def _without_server(own: OwnFile, name: str) -> bytes:
    if not own.place_of(name):
        raise own.unknown(name)
    return own.without_servers([name])
