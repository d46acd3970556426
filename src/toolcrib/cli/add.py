"""`toolcrib add`: one more server in our own file."""

from __future__ import annotations

import argparse
import os
from typing import Any

from toolcrib.adoption.own_file import OwnFile, check_new_server
from toolcrib.adoption.program_meant import program_meant
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import edit_own_file, perform, say, show_json, tilde
from toolcrib.cli.moving_parsers import read_rest
from toolcrib.config.paths import working_folder
from toolcrib.errors import ValidationError


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _add(read_rest(options)))


def _add(options: argparse.Namespace) -> int:
    name, entry = options.name, {**_entry(options), **({"share": options.share} if options.share else {})}
    check_new_server(name, entry)
    own = edit_own_file(options, lambda own: _with_server(own, name, entry))
    if options.json:
        show_json({"success": True, "name": name, "config": str(own.path)})
    else:
        runs = f"; it runs {command}" if options.words and (command := entry["command"]) != options.words[0] else ""
        say(f"{name} is now in {tilde(own.path)}{runs}; `toolcrib tools {name}` reads it and shows its tools")
    return OK


def _with_server(own: OwnFile, name: str, entry: dict[str, Any]) -> bytes:
    if own.place_of(name):
        raise ValidationError(f"'{name}' is already in {own.path}", hint=f"`toolcrib remove {name}` removes it.")
    return own.with_servers({name: entry})


def _entry(options: argparse.Namespace) -> dict[str, Any]:
    if options.words:
        if options.header:
            raise ValidationError("--header is for a URL, not for a command")
        command = program_meant(options.words[0], os.environ, working_folder())
        entry: dict[str, Any] = {"command": command, "args": options.words[1:]}
        values = _pairs(options.env, "=", "--env")
        return {key: value for key, value in {**entry, "env": values}.items() if value}
    if options.env:
        raise ValidationError("--env is for a command, not for a URL")
    headers = _pairs(options.header, ":", "--header")
    return {"url": options.url, "headers": headers} if headers else {"url": options.url}


def _pairs(texts: list[str], separator: str, option: str) -> dict[str, str]:
    pairs = [text.partition(separator) for text in texts]
    for name, found, _ in pairs:
        if not found or not name.strip():
            # The text may be a secret and is not repeated.
            raise ValidationError(f"{option}: expected NAME{separator}VALUE")
    return {name.strip(): value.strip() if separator == ":" else value for name, _, value in pairs}
