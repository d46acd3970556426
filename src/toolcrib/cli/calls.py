"""`toolcrib calls`: what all clients called, and what they call while we watch."""

from __future__ import annotations

import argparse
import os
import time
from datetime import UTC, datetime
from typing import Any

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.calls.call_filter import CallFilter
from toolcrib.cli.exits import OK
from toolcrib.cli.following import follow
from toolcrib.cli.output import Output
from toolcrib.cli.running_engine import running_engine
from toolcrib.cli.since import moment
from toolcrib.cli.terminal import width_of
from toolcrib.config.paths import Paths
from toolcrib.model.clean_text import clean
from toolcrib.storage.audit_trail import AuditTrail

# Wide enough for most, so that the lines of calls that come later line up too.
_COLUMNS = (("ENDED", 19), ("TOOK", 9), ("OUTCOME", 26), ("CLIENT", 14), ("TOOL", 0))


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    since = moment(options.since, time.time()) if options.since else 0.0
    wanted = CallFilter(options.server or "", options.tool or "", options.client or "", options.failed, since)
    trail = AuditTrail(Paths.of(os.environ).audit_log)
    calls = trail.last(wanted, options.lines, since)
    running = [call for call in _running() if wanted.takes_names(call["server"], call["tool"], call["client"])]
    if output.as_json and not options.follow:
        output.json({"calls": [call_json(call) for call in calls], "running": running})
        return OK
    _print(output, calls, heading=bool(calls or options.follow))
    _print_running(output, running if not options.failed else [])
    if options.follow:
        for call in follow(lambda: trail.new(wanted), output.out.stream):
            _print(output, [call])
    elif not calls:
        output.note("No recorded call fits.")
    return OK


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


def _print_running(output: Output, running: list[dict[str, Any]]) -> None:
    if output.as_json:
        return
    for call in running:
        doing = "waiting for an answer" if call.get("waitsForAnswer") else "-"
        cells = ["running", took(call["runningMs"]), doing, call["client"] or "-", f"{call['server']}:{call['tool']}"]
        output.out.write(output.out.paint(_line([clean(cell) for cell in cells]), "cyan"))


def took(milliseconds: float) -> str:
    """`12 ms`, `3.4 s`, `310 s`."""
    if milliseconds < 1:
        return "<1 ms"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.{1 if milliseconds < 100_000 else 0}f} s"


def _print(output: Output, calls: list[AuditRecord], *, heading: bool = False) -> None:
    if output.as_json:
        for call in calls:
            output.json_line(call_json(call))
        return
    if heading:
        output.out.write(output.out.paint(_line([name for name, _ in _COLUMNS]), "bold"))
    for call in calls:
        output.out.write(output.out.paint(_line(_cells(call)), *(["red"] if call.failed else [])))


def _cells(call: AuditRecord) -> list[str]:
    ended = datetime.fromtimestamp(call.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    foreign = (call.outcome, call.caller or "-", f"{call.server}:{call.tool}")
    return [ended, took(call.duration_ms), *map(clean, foreign)]


def _line(cells: list[str]) -> str:
    padded = (cell + " " * (width - width_of(cell)) for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    return "  ".join(padded).rstrip()
