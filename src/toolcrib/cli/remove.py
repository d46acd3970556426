"""`toolcrib remove`: a server leaves our own file, and its secrets the keyring."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from toolcrib.adoption.left_secrets import left_secrets
from toolcrib.adoption.own_file import OwnFile
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import edit_own_file, perform, say, show_json, site_of, tilde
from toolcrib.cli.output import Output
from toolcrib.config.load import load_settings
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import ConfigurationError, ToolcribError


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _remove(options))


def _remove(options: argparse.Namespace) -> int:
    own = edit_own_file(options, lambda own: _without_server(own, options.name))
    dropped = [] if options.keep_secrets else _drop_secrets(options, own)
    _end_requests(options)
    if options.json:
        show_json({"success": True, "name": options.name, "config": str(own.path), "removedSecrets": dropped})
        return OK
    say(f"{options.name} is no longer in {tilde(own.path)}")
    if dropped:
        say(f"removed from the keyring, where nothing else refers to it: {', '.join(dropped)}")
    return OK


def _without_server(own: OwnFile, name: str) -> bytes:
    if not own.place_of(name):
        raise own.unknown(name)
    return own.without_servers([name])


def _end_requests(options: argparse.Namespace) -> None:
    """Nobody need decide about what the server offers; where that can't be written down, the server is gone all the same."""
    try:
        settings = load_settings(Path(options.config) if options.config else None)
        # Only here: most of the other commands that edit the file need no catalog.
        import_module("toolcrib.cli.removed_server").withdraw_requests(settings, options.name, Output.of(options))
    except ToolcribError as trouble:
        Output.of(options).note(f"requests about it may still wait in `toolcrib approvals`: {trouble.message}")


def _drop_secrets(options: argparse.Namespace, own: OwnFile) -> list[str]:
    """Take the values out of the keyring that were there for this server alone; those that are gone now."""
    vault, output = OsKeyring(), Output.of(options)
    try:
        names = left_secrets(site_of(options), options.name, own.entry(options.name))
    except ConfigurationError:
        output.note("its values stay in the keyring: a file could not be read that may refer to them")
        return []
    known = [name for name in names if vault.get(name) is not None]
    for name in known:
        vault.drop(name)
    stays = [name for name in known if vault.get(name) is not None]
    if stays:
        output.note(f"the keyring did not let go of {', '.join(stays)} (service toolcrib)")
    return [name for name in known if name not in stays]
