"""`toolcrib config`: show, check and reload the configuration."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from toolcrib.catalog.store import GatewayRow
from toolcrib.cli.config_show import Facts, print_source_table, shown_path, source_json
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.open_catalog import CatalogSession, settings_of
from toolcrib.cli.output import Output, problem_json
from toolcrib.cli.terminal import Terminal
from toolcrib.cli.wording import counted
from toolcrib.config.fixed_settings import need_restart
from toolcrib.config.paths import Paths
from toolcrib.engine.gateway_rows import ask_to_reload, running_gateways
from toolcrib.engine.open_catalog import open_reading
from toolcrib.engine.validation import ConfigCheck, validate_config


def run(options: argparse.Namespace) -> int:
    return _ACTIONS[options.action](options, Output.of(options))


# -- show


def _show(options: argparse.Namespace, output: Output) -> int:
    settings = settings_of(options, output)
    with closing(open_reading(settings, Paths.of(os.environ))) as looking:
        facts = Facts(CatalogSession(looking.workspace, running_gateways(looking.store, time.time())))
    if output.as_json:
        output.json(facts.as_json())
    else:
        facts.print(output.out)
    return OK


# -- sources


def _sources(options: argparse.Namespace, output: Output) -> int:
    states = settings_of(options, output).source_states
    if output.as_json:
        output.json({"sources": [source_json(source) for source in states]})
        return OK
    output.out.write(output.out.paint(f"Sources ({len(states)}):", "bold"))
    output.out.write()
    if states:
        print_source_table(output.out, states)
    else:
        output.out.paragraph("None: the configuration file names no sources. `sources: auto` imports from AI clients.")
    return OK


# -- validate


def _validate(options: argparse.Namespace, output: Output) -> int:
    check = validate_config(options.config or None)
    if output.as_json:
        output.json(_validation_json(check))
    else:
        _print_validation(check, output.out)
    return OK if check.is_valid else CONFIGURATION


def _print_validation(check: ConfigCheck, out: Terminal) -> None:
    for problem in check.problems:
        out.item("✗ ", shown_path(str(problem)), "red")
    for warning in check.warnings:
        out.item("! ", warning, "yellow")
    if check.problems or check.warnings:
        out.write()
    warnings = counted(len(check.warnings), "warning")
    if not check.is_valid:
        out.paragraph(f"The configuration has {counted(len(check.problems), 'problem')} and {warnings}.")
        return
    named = f" ({shown_path(check.file)})" if check.file else " (no file: built-in defaults)"
    told = f", with {warnings}" if check.warnings else ""
    out.item("✓ ", f"The configuration is valid{told}{named}.", "green")


def _validation_json(check: ConfigCheck) -> dict[str, Any]:
    return {
        "valid": check.is_valid,
        "file": str(check.file) if check.file else None,
        "problems": [problem_json(problem) for problem in check.problems],
        "warnings": list(check.warnings),
    }


# -- reload


def _reload(options: argparse.Namespace, output: Output) -> int:
    """Check the configuration first: a bad one would only be refused by each gateway."""
    settings = settings_of(options, output)
    with closing(open_reading(settings, Paths.of(os.environ))) as looking:
        now = time.time()
        running = running_gateways(looking.store, now)
        asked = ask_to_reload(running, now)
    waiting = sorted({key for row in running for key in need_restart(row.started_with, settings)})
    if output.as_json:
        told = {"running": _pids(running), "reloaded": _pids(asked), "needRestart": waiting}
        output.json({"servers": len(settings.servers), **told})
        return OK
    output.out.item("✓ ", f"The configuration is valid: {counted(len(settings.servers), 'server')}.", "green")
    output.out.paragraph(_told(running, asked))
    if waiting:
        output.out.item("! ", f"Restart the gateway to use the new values of {', '.join(waiting)}.", "yellow")
    return OK


def _pids(rows: list[GatewayRow]) -> list[int]:
    return [row.pid for row in rows]


def _told(running: list[GatewayRow], asked: list[GatewayRow]) -> str:
    if not running:
        return "No gateway is running; the next one reads it when it starts."
    if not asked:
        return "The running gateways notice an edited file by themselves within a few seconds."
    pids = ", ".join(map(str, _pids(asked)))
    return f"Told {counted(len(asked), 'running gateway')} to read it again (pid {pids})."


_ACTIONS: dict[str, Callable[[argparse.Namespace, Output], int]] = {
    "show": _show,
    "sources": _sources,
    "validate": _validate,
    "reload": _reload,
}
