"""`toolcrib config`: show, check and reload the configuration."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolcrib.app.offline import open_reading
from toolcrib.app.running import ask_to_reload, running_gateways
from toolcrib.catalog.store import GatewayRow
from toolcrib.cli.config_show import Facts, print_source_table, shown_path, source_json
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.output import Output, problem_json
from toolcrib.cli.reading import Reading, settings_of
from toolcrib.cli.wording import counted
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, Problem


def run(options: argparse.Namespace) -> int:
    return _ACTIONS[options.action](options, Output.of(options))


# -- show


def _show(options: argparse.Namespace, output: Output) -> int:
    settings = settings_of(options, output)
    offline = open_reading(settings, Paths.of(os.environ))
    try:
        reading = Reading(settings, offline.stock, running_gateways(offline.store, time.time()))
        facts = Facts(reading)
    finally:
        offline.store.close()
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
    try:
        settings = load_settings(Path(options.config) if options.config else None)
        warnings = [*settings.warnings, *_rule_warnings(settings)]
        problems = list(settings.problems)
        file = settings.file
    except ConfigurationError as error:
        problems, warnings, file = list(error.problems), [], None
    if output.as_json:
        output.json(_validation_json(file, problems, warnings))
    else:
        _print_validation(file, problems, warnings, output)
    return CONFIGURATION if problems else OK


def _rule_warnings(settings: Settings) -> list[str]:
    """What the rules do that their author may not expect, over the tools in the catalogue."""
    offline = open_reading(settings, Paths.of(os.environ))
    try:
        return offline.stock.warnings
    finally:
        offline.store.close()


def _print_validation(file: Path | None, problems: list[Problem], warnings: list[str], output: Output) -> None:
    out = output.out
    for problem in problems:
        out.item("✗ ", shown_path(str(problem)), "red")
    for warning in warnings:
        out.item("! ", warning, "yellow")
    if problems or warnings:
        out.write()
    if problems:
        out.paragraph(
            f"The configuration has {counted(len(problems), 'problem')} and {counted(len(warnings), 'warning')}."
        )
        return
    named = f" ({shown_path(file)})" if file else " (no file: built-in defaults)"
    told = f", with {counted(len(warnings), 'warning')}" if warnings else ""
    out.item("✓ ", f"The configuration is valid{told}{named}.", "green")


def _validation_json(file: Path | None, problems: list[Problem], warnings: list[str]) -> dict[str, Any]:
    return {
        "valid": not problems,
        "file": str(file) if file else None,
        "problems": [problem_json(problem) for problem in problems],
        "warnings": warnings,
    }


# -- reload


def _reload(options: argparse.Namespace, output: Output) -> int:
    """Check the configuration first: a bad one would only be refused by each gateway."""
    settings = settings_of(options, output)
    offline = open_reading(settings, Paths.of(os.environ))
    try:
        now = time.time()
        running = running_gateways(offline.store, now)
        asked = ask_to_reload(running, now)
    finally:
        offline.store.close()
    if output.as_json:
        output.json({"servers": len(settings.servers), "running": _pids(running), "reloaded": _pids(asked)})
        return OK
    output.out.item("✓ ", f"The configuration is valid: {counted(len(settings.servers), 'server')}.", "green")
    output.out.paragraph(_told(running, asked))
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
