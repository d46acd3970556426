"""What the commands of moving in and out share: words for people or JSON, and consent before anything is written."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.site import Site
from toolcrib.adoption.writer import Writer
from toolcrib.cli.exits import CONFIGURATION, USAGE
from toolcrib.cli.moving_parsers import WrongWords
from toolcrib.cli.output import Output
from toolcrib.cli.terminal import Terminal, home_as_tilde
from toolcrib.clients.client import Client
from toolcrib.clients.table import CLIENTS
from toolcrib.config.names import did_you_mean
from toolcrib.errors import ConfigurationError, Problem, ToolcribError, ValidationError
from toolcrib.masking.redactor import REDACTOR

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Work(Generic[P]):
    """What one command plans, says and writes."""

    site: Site
    plan: Callable[[], P]
    show: Callable[[P], None]
    has_work: Callable[[P], bool]
    write: Callable[[Writer, P], None]


def perform(options: argparse.Namespace, work: Callable[[], int]) -> int:
    """Run the command; what a person can act on becomes words, or JSON, and an exit code."""
    try:
        return work()
    except WrongWords as wrong:
        error: ToolcribError = ValidationError(str(wrong), hint=f"`toolcrib {options.command} --help` shows how.")
    except ToolcribError as raised:
        error = raised
    Output.of(options).error(error)
    return USAGE if isinstance(error, ValidationError) else CONFIGURATION


def site_of(options: argparse.Namespace) -> Site:
    return Site.of(os.environ, options.config)


def say(text: str = "") -> None:
    """Text that may hold foreign words, harmless on a terminal and without secrets."""
    Terminal.of(sys.stdout, "never").paragraph(REDACTOR(text))


def show_json(value: Any) -> None:
    print(json.dumps(REDACTOR.value(value), indent=2))


def tilde(path: Path) -> str:
    """A path as people write it."""
    return home_as_tilde(str(path))


def client_named(name: str) -> Client:
    """The client a person means, however they write its name."""
    wanted = _plain(name)
    for client in CLIENTS.values():
        if wanted in (_plain(client.name), _plain(client.title)):
            return client
    known = ", ".join(CLIENTS)
    raise ValidationError(f"no client is known as '{name}'{did_you_mean(name, CLIENTS)}", hint=f"Known: {known}")


def planned(options: argparse.Namespace, work: Work[P]) -> tuple[P, bool]:
    """Plan, show it and, with consent, do it; what was planned, and whether it was done.

    With consent given beforehand all of it happens under one lock. A person who is asked takes their time: the lock is
    taken after the answer, and only what was shown is done.
    """
    if options.yes and not options.dry_run:
        with work.site.writing(options.command) as writer:
            plan = work.plan()
            work.show(plan)
            if work.has_work(plan):
                work.write(writer, plan)
            return plan, work.has_work(plan)
    plan = work.plan()
    work.show(plan)
    if not work.has_work(plan) or not may_go_ahead(options):
        return plan, False
    with work.site.writing(options.command) as writer:
        if work.plan() != plan:
            message = "something changed after this was shown; nothing was written, try again"
            raise ConfigurationError([Problem("", message)])
        work.write(writer, plan)
    return plan, True


def edit_own_file(options: argparse.Namespace, change: Callable[[OwnFile], bytes | None]) -> OwnFile:
    """Change our own file as it is when nobody else writes; the file as it was before."""
    site = site_of(options)
    with site.writing(options.command) as writer:
        own = site.own_file()
        writer.take([own.rewritten(change(own))])
    return own


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
