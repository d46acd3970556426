"""What the commands of moving in and out share: words for people or JSON, and consent before anything is written."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolcrib.adoption.clients import CLIENTS, Client
from toolcrib.adoption.site import Site
from toolcrib.cli.exits import CONFIGURATION, USAGE
from toolcrib.cli.moving_parsers import WrongWords
from toolcrib.cli.terminal import clean_lines
from toolcrib.config.names import did_you_mean
from toolcrib.errors import ToolcribError, ValidationError
from toolcrib.masking.masker import Masker
from toolcrib.masking.texts import mask_text


def perform(options: argparse.Namespace, work: Callable[[], int]) -> int:
    """Run the command; what a person can act on becomes words, or JSON, and an exit code."""
    try:
        return work()
    except WrongWords as wrong:
        error: ToolcribError = ValidationError(str(wrong))
    except ToolcribError as raised:
        error = raised
    if options.json:
        body = {"code": error.code, "message": error.message, "hint": error.hint, **error.details}
        show_json({"success": False, "error": {key: value for key, value in body.items() if value}})
    else:
        for line in (f"toolcrib {options.command}: {error.message}", error.hint):
            if line:
                print(clean_lines(mask_text(line)), file=sys.stderr)
    return USAGE if isinstance(error, ValidationError) else CONFIGURATION


def site_of(options: argparse.Namespace) -> Site:
    return Site.of(os.environ, options.config)


def say(text: str = "") -> None:
    """Text that may hold foreign words, harmless on a terminal and without secrets."""
    print(clean_lines(mask_text(text)))


def show_json(value: Any) -> None:
    print(json.dumps(Masker().value(value), indent=2))


def tilde(path: Path) -> str:
    """A path as people write it."""
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE") or ""
    text = str(path)
    return f"~{text.removeprefix(home)}" if home and text.startswith(home.rstrip("/\\") + os.sep) else text


def client_named(name: str) -> Client:
    """The client a person means, however they write its name."""
    wanted = _plain(name)
    for client in CLIENTS.values():
        if wanted in (_plain(client.name), _plain(client.title)):
            return client
    known = ", ".join(CLIENTS)
    raise ValidationError(f"no client is known as '{name}'{did_you_mean(name, CLIENTS)}", hint=f"Known: {known}")


def may_go_ahead(options: argparse.Namespace) -> bool:
    """Whether to write: asked for, or agreed to on a terminal."""
    if options.dry_run:
        return False
    if options.yes:
        return True
    if options.json or sys.stdin is None or not sys.stdin.isatty():
        raise ValidationError("nothing was written: add --yes to go ahead, or --dry-run to look only")
    return input("Go ahead? [y/N] ").strip().lower() in ("y", "yes")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
