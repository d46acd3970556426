"""`toolcrib remove`: a server leaves our own file."""

from __future__ import annotations

import argparse

from toolcrib.adoption.writes import FileWrite, write_all
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import perform, say, show_json, site_of, tilde


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _remove(options))


def _remove(options: argparse.Namespace) -> int:
    own = site_of(options).own_file()
    if not own.place_of(options.name):
        raise own.unknown(options.name)
    write_all([FileWrite(own.path, own.content, own.without_servers([options.name]))])
    if options.json:
        show_json({"success": True, "name": options.name, "config": str(own.path)})
    else:
        say(f"{options.name} is no longer in {tilde(own.path)}")
    return OK
