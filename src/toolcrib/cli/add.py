"""`toolcrib add`: one more server in our own file."""

from __future__ import annotations

import argparse
import os
from typing import Any

from toolcrib.adoption.own_file import OwnFile, check_new_server
from toolcrib.adoption.program_meant import program_meant, words_meant
from toolcrib.cli.exits import OK
from toolcrib.cli.given_values import GivenValues, headers, variables
from toolcrib.cli.moving import edit_own_file, perform, say, show_json, tilde
from toolcrib.cli.moving_parsers import read_rest
from toolcrib.cli.output import Output
from toolcrib.config.package_versions import unpinned_packages
from toolcrib.config.paths import working_folder
from toolcrib.errors import ValidationError
from toolcrib.masking.redactor import REDACTOR
from toolcrib.model.server import StdioLaunch
from toolcrib.model.shell_words import shell_word


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _add(read_rest(options)))


def _add(options: argparse.Namespace) -> int:
    name = options.name
    entry, given = _entry(options)
    check_new_server(name, entry)
    own = edit_own_file(options, lambda own: _with_server(own, name, entry, given))
    output = Output.of(options)
    for seen in map(REDACTOR, given.seen):
        output.note(
            f"other programs, and the history of your shell, can see the value of {seen} on the command line; "
            f"`--secret {seen}` asks for it instead and puts it into the keyring",
            is_covered=True,
        )
    for name in given.unset:
        output.note(f"{name} is not set here; {options.name} can start only where your AI client gives it a value")
    for package in _unpinned(entry):
        output.note(
            f"{package} has no exact version: whoever publishes it can change what runs here; "
            "write one behind it to decide that yourself"
        )
    if options.json:
        show_json({"success": True, "name": name, "config": str(own.path)})
    else:
        runs = [entry["command"], *entry.get("args", ())] if options.words else []
        told = f"; it runs {' '.join(map(shell_word, runs))}" if runs != options.words else ""
        say(f"{name} is now in {tilde(own.path)}{told}; `toolcrib tools {name}` reads it and shows its tools")
    return OK


def _unpinned(entry: dict[str, Any]) -> list[str]:
    return unpinned_packages(StdioLaunch(entry["command"], tuple(entry.get("args", ())))) if "command" in entry else []


def _with_server(own: OwnFile, name: str, entry: dict[str, Any], given: GivenValues) -> bytes:
    if own.place_of(name):
        raise ValidationError(f"'{name}' is already in {own.path}", hint=f"`toolcrib remove {name}` removes it.")
    written = own.with_servers({name: entry})
    given.keep()  # only now: the keyring may have values under these names for a server that is there
    return written


def _entry(options: argparse.Namespace) -> tuple[dict[str, Any], GivenValues]:
    if options.words:
        if options.header:
            raise ValidationError("--header is for a URL, not for a command")
        here = working_folder()
        command = program_meant(options.words[0], os.environ, here)
        given = variables(options.name, options.env, options.secret)
        entry = {"command": command, "args": words_meant(options.words[1:], here), "env": dict(given.written)}
    else:
        if options.env:
            raise ValidationError("--env is for a command, not for a URL")
        given = headers(options.name, options.header, options.secret)
        entry = {"url": options.url, "headers": dict(given.written)}
    return {key: value for key, value in {**entry, "share": options.share}.items() if value}, given
