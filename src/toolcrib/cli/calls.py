"""`toolcrib calls`: what all clients called, and what they call while we watch."""

from __future__ import annotations

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.calls.call_filter import CallFilter
from toolcrib.cli.columns import Columns
from toolcrib.cli.exits import OK
from toolcrib.cli.following import follow
from toolcrib.cli.output import Output
from toolcrib.cli.running_engine import running_engine
from toolcrib.cli.since import moment
from toolcrib.cli.terminal import home_as_tilde
from toolcrib.config.paths import Paths
from toolcrib.model.clean_text import clean
from toolcrib.storage.audit_trail import AuditTrail, files_of_log

_COLUMNS = Columns(("ENDED", "TOOK", "OUTCOME", "CLIENT", "TOOL"), (19, 9, 26, 14, 0))


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    since = moment(options.since, time.time()) if options.since else 0.0
    wanted = CallFilter(options.server or "", options.tool or "", options.client or "", options.failed, since)
    log = Paths.of(os.environ).audit_log
    trail = AuditTrail(log)
    calls = trail.last(wanted, options.lines, since)
    running = [call for call in _running() if wanted.takes_names(call["server"], call["tool"], call["client"])]
    if output.as_json and not options.follow:
        output.json({"calls": [call_json(call) for call in calls], "running": running})
        return OK
    running = running if not options.failed else []
    columns = _COLUMNS.for_rows([*map(_cells, calls), *map(_running_cells, running)])
    if not output.as_json and (calls or options.follow):
        output.out.write(output.out.paint(columns.heading, "bold"))
    _print(output, columns, calls)
    _print_running(output, columns, running)
    if options.follow:
        for call in follow(lambda: trail.new(wanted), output.out.stream):
            _print(output, columns, [call])
    elif not calls:
        output.note("No recorded call fits." if files_of_log(log) else no_log_yet(log))
    return OK


def no_log_yet(log: Path) -> str:
    return f"There is no audit log yet; the first call begins it: {home_as_tilde(str(log))}"


def call_json(call: AuditRecord) -> dict[str, Any]:
    return {
        "time": datetime.fromtimestamp(call.time, UTC).isoformat(timespec="milliseconds"),
        "client": call.caller,
        "face": call.face,
        "server": call.server,
        "tool": call.tool,
        "outcome": call.outcome,
        "durationMs": call.duration_ms,
        "argumentNames": list(call.argument_names),
        "argumentBytes": call.argument_bytes,
        "resultBytes": call.result_bytes,
        "questions": call.questions,
    }


def _running() -> list[dict[str, Any]]:
    """The calls that run now, where an engine knows."""
    status = running_engine()
    return [] if status is None else list(status["calls"])


def _print_running(output: Output, columns: Columns, running: list[dict[str, Any]]) -> None:
    if output.as_json:
        return
    for call in running:
        output.out.write(output.out.paint(columns.line(_running_cells(call)), "cyan"))


def _running_cells(call: dict[str, Any]) -> list[str]:
    doing = "waiting for an answer" if call.get("waitsForAnswer") else "-"
    cells = ["running", took(call["runningMs"]), doing, call["client"] or "-", f"{call['server']}:{call['tool']}"]
    return [clean(cell) for cell in cells]


def took(milliseconds: float) -> str:
    """`12 ms`, `3.4 s`, `310 s`."""
    if milliseconds < 1:
        return "<1 ms"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.{1 if milliseconds < 100_000 else 0}f} s"


def _print(output: Output, columns: Columns, calls: list[AuditRecord]) -> None:
    if output.as_json:
        for call in calls:
            output.json_line(call_json(call))
        return
    for call in calls:
        output.out.write(output.out.paint(columns.line(_cells(call)), *(["red"] if call.failed else [])))


def _cells(call: AuditRecord) -> list[str]:
    ended = datetime.fromtimestamp(call.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    foreign = (call.outcome, call.caller or "-", f"{call.server}:{call.tool}")
    return [ended, took(call.duration_ms), *map(clean, foreign)]
