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
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.output import Output, problem_json
from toolcrib.cli.reading import Reading, settings_of
from toolcrib.cli.table import print_table
from toolcrib.cli.terminal import home_as_tilde
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings, SourceState, ToolRule
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.model.clean_text import clean

_STATES = {
    "found": "found",
    "missing": "not found",
    "broken": "can't be read",
    "untrusted": "not trusted yet",
}


def run(options: argparse.Namespace) -> int:
    return _ACTIONS[options.action](options, Output.of(options))


# -- show


def _show(options: argparse.Namespace, output: Output) -> int:
    settings = settings_of(options, output)
    offline = open_reading(settings, Paths.of(os.environ))
    try:
        reading = Reading(settings, offline.stock, running_gateways(offline.store, time.time()))
        facts = _Facts(reading)
    finally:
        offline.store.close()
    if output.as_json:
        output.json(facts.as_json())
    else:
        facts.print(output)
    return OK


class _Facts:
    """What `config show` tells."""

    def __init__(self, reading: Reading) -> None:
        stock = reading.stock
        self.settings = reading.settings
        self.servers = len(stock.specs)
        self.connected = sum(bool(reading.holders(name)) for name in stock.specs)
        shelves = [stock.shelf(name) for name in stock.specs]
        self.tools = sum(map(len, shelves))
        self.enabled = sum(tool.enabled for shelf in shelves for tool in shelf.values())

    def print(self, output: Output) -> None:
        out, settings = output.out, self.settings
        out.write(out.paint("MCP Discovery Configuration:", "bold"))
        out.write()
        out.write(f"File: {_shown(settings.file) if settings.file else 'none (built-in defaults)'}")
        out.write(f"Status: {_on(settings.enabled)}")
        out.write(f"Cache: {_on(settings.cache_enabled)} (TTL: {settings.cache_ttl_seconds:g}s)")
        out.write()
        out.write(out.paint(f"Sources ({len(settings.source_states)}):", "bold"))
        for source in settings.source_states:
            sign = out.paint("✓", "green") if source.state == "found" else out.paint("✗", "red")
            reason = "" if source.state == "found" else f" - {_STATES[source.state]}"
            out.write(f"  {sign} {clean(source.type)} ({_shown(source.path)}){reason}")
        out.write()
        out.write(out.paint(f"Tool Rules ({len(settings.tool_rules)}):", "bold"))
        for number, rule in enumerate(settings.tool_rules, start=1):
            out.write(f"  {number}. {clean(_rule_text(rule))}")
        out.write()
        out.write(f"Servers: {self.servers} configured, {self.connected} connected")
        out.write(f"Tools: {self.tools} total, {self.enabled} enabled")

    def as_json(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "file": str(settings.file) if settings.file else None,
            "enabled": settings.enabled,
            "cache": {"enabled": settings.cache_enabled, "ttl": settings.cache_ttl_seconds},
            "sources": [_source_json(source) for source in settings.source_states],
            "rulePrecedence": settings.rule_precedence,
            "toolRules": [_rule_json(rule) for rule in settings.tool_rules],
            "servers": {"configured": self.servers, "connected": self.connected},
            "tools": {"total": self.tools, "enabled": self.enabled},
        }


def _on(value: bool) -> str:
    return "Enabled" if value else "Disabled"


def _shown(path: Path | str) -> str:
    return clean(home_as_tilde(str(path)))


def _rule_text(rule: ToolRule) -> str:
    about = ", ".join(rule.pattern) or "*"
    place = f"{rule.server}: " if rule.server else ""
    effects = [] if rule.enabled is None else ["enabled" if rule.enabled else "disabled"]
    if rule.tags:
        effects.append(f"tags: [{', '.join(rule.tags)}]")
    return f"{place}{about} → {', '.join(effects) or 'no effect'}"


def _rule_json(rule: ToolRule) -> dict[str, Any]:
    rendered: dict[str, Any] = {"pattern": list(rule.pattern), "tags": list(rule.tags)}
    if rule.server is not None:
        rendered["server"] = rule.server
    if rule.enabled is not None:
        rendered["enabled"] = rule.enabled
    return rendered


def _source_json(source: SourceState) -> dict[str, Any]:
    return {"type": source.type, "path": source.path, "state": source.state, "servers": source.count}


# -- sources


def _sources(options: argparse.Namespace, output: Output) -> int:
    states = settings_of(options, output).source_states
    if output.as_json:
        output.json({"sources": [_source_json(source) for source in states]})
        return OK
    output.out.write(output.out.paint(f"Sources ({len(states)}):", "bold"))
    output.out.write()
    if not states:
        output.out.write("None: the configuration file names no sources. `sources: auto` imports from AI clients.")
        return OK
    rows = [
        (
            f"{'✓' if source.state == 'found' else '✗'} {source.type}",
            _STATES[source.state],
            str(source.count),
            home_as_tilde(source.path),
        )
        for source in states
    ]
    print_table(output.out, ("SOURCE", "STATE", "SERVERS", "FILE"), rows)
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
        out.write(f"{out.paint('✗', 'red')} {clean(home_as_tilde(str(problem)))}")
    for warning in warnings:
        out.write(f"{out.paint('!', 'yellow')} {clean(warning)}")
    if problems or warnings:
        out.write()
    if problems:
        out.write(f"The configuration has {_count(len(problems), 'problem')} and {_count(len(warnings), 'warning')}.")
        return
    named = f" ({_shown(file)})" if file else " (no file: built-in defaults)"
    told = f", with {_count(len(warnings), 'warning')}" if warnings else ""
    out.write(f"{out.paint('✓', 'green')} The configuration is valid{told}{named}.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    sign = output.out.paint("✓", "green")
    output.out.write(f"{sign} The configuration is valid: {_count(len(settings.servers), 'server')}.")
    output.out.write(_told(running, asked))
    return OK


def _pids(rows: list[GatewayRow]) -> list[int]:
    return [row.pid for row in rows]


def _told(running: list[GatewayRow], asked: list[GatewayRow]) -> str:
    if not running:
        return "No gateway is running; the next one reads it when it starts."
    if not asked:
        return "The running gateways notice an edited file by themselves within a few seconds."
    pids = ", ".join(map(str, _pids(asked)))
    return f"Told {_count(len(asked), 'running gateway')} to read it again (pid {pids})."


_ACTIONS: dict[str, Callable[[argparse.Namespace, Output], int]] = {
    "show": _show,
    "sources": _sources,
    "validate": _validate,
    "reload": _reload,
}
