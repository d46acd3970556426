"""`toolcrib audit`: what ran and what was decided, and whether the log of it is whole."""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.calls.call_filter import CallFilter
from toolcrib.cli.calls import call_json, no_log_yet, took
from toolcrib.cli.columns import Columns
from toolcrib.cli.exits import FAILED, OK
from toolcrib.cli.following import follow
from toolcrib.cli.output import Output
from toolcrib.cli.since import moment
from toolcrib.cli.wording import counted
from toolcrib.config.paths import Paths
from toolcrib.errors import ValidationError
from toolcrib.model.clean_text import clean
from toolcrib.storage.audit_check import Break, Checked, check_log
from toolcrib.storage.audit_trail import AuditTrail, Wanted, files_of_log

_COLUMNS = Columns(("LINE", "TIME", "TOOK", "OUTCOME", "CALLER", "ABOUT"), (7, 19, 9, 26, 14, 0))
_TABLE = (
    "n time client face server tool outcome durationMs argumentNames argumentBytes resultBytes questions effect decision"
    " rights fingerprint findings reason"
).split()
# Spreadsheets take what begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NONE = "There is no audit log: nothing was called yet, or its files were taken away."
_MOST_BREAKS = 20
_MOST_NAMED = 10


def run(options: argparse.Namespace) -> int:
    output, log = Output.of(options), Paths.of(os.environ).audit_log
    if options.action == "verify":
        return _verify(options, output, log)
    if options.action == "export":
        return _export(options, output, log)
    return _show(options, output, log)


def _show(options: argparse.Namespace, output: Output, log: Path) -> int:
    since = moment(options.since, time.time()) if options.since else 0.0
    wanted, trail = _wanted(options, since), AuditTrail(log)
    records = trail.last(wanted, options.lines, since)
    follows = getattr(options, "follow", False)
    if output.as_json and not follows:
        output.json({"lines": [_record_json(record) for record in records]})
        return OK
    columns = _COLUMNS.for_rows(map(_cells, records))
    if not output.as_json and (records or follows):
        output.out.write(output.out.paint(columns.heading, "bold"))
    _print(output, columns, records)
    if follows:
        for record in follow(lambda: trail.new(wanted), output.out.stream):
            _print(output, columns, [record])
    elif not records:
        output.note("No line of the audit log fits." if files_of_log(log) else no_log_yet(log))
    if any(not record.number for record in records):
        output.note(
            "Lines without a number are not part of the chain: `toolcrib audit verify` says whether they may be there."
        )
    return OK


def _wanted(options: argparse.Namespace, since: float) -> Wanted:
    names = CallFilter(options.server or "", options.tool or "", options.caller or "")

    def wanted(record: AuditRecord) -> bool:
        return (
            record.time >= since
            and names.takes_names(record.server, record.tool, record.caller)
            and fnmatchcase(record.outcome.lower(), (options.outcome or "*").lower())
        )

    return wanted


def _record_json(record: AuditRecord) -> dict[str, Any]:
    more = {"effect": record.effect, "decision": record.decision, "rights": record.rights}
    more |= {"fingerprint": record.fingerprint, "findings": record.findings, "reason": record.reason}
    shown = {"n": record.number, **call_json(record), **more}
    return {name: value for name, value in shown.items() if value != "" or name in ("server", "tool", "client")}


def _print(output: Output, columns: Columns, records: Iterable[AuditRecord]) -> None:
    for record in records:
        if output.as_json:
            output.json_line(_record_json(record))
        else:
            failed = record.is_call and record.failed
            output.out.write(output.out.paint(columns.line(_cells(record)), *(["red"] if failed else [])))


def _cells(record: AuditRecord) -> list[str]:
    at = datetime.fromtimestamp(record.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    about = ":".join(filter(None, (record.server, record.tool))) or "-"
    duration = took(record.duration_ms) if record.is_call else "-"
    return [str(record.number or "-"), at, duration, *map(clean, (record.outcome, record.caller or "-", about))]


def _verify(options: argparse.Namespace, output: Output, log: Path) -> int:
    checked = check_log(log, options.expect or "")
    breaks = [found for found in checked.breaks if found.number >= options.first]
    if not breaks and checked.last and options.first > checked.last:
        raise ValidationError(f"--from {options.first}: the audit log ends with line {checked.last}")
    is_whole = not breaks and checked.has_expected
    if output.as_json:
        output.json(_checked_json(checked, breaks, is_whole=is_whole))
    else:
        _say(output, checked, breaks, options)
    return OK if is_whole else FAILED


def _checked_json(checked: Checked, breaks: list[Break], *, is_whole: bool) -> dict[str, Any]:
    return {
        "whole": is_whole,
        "first": checked.first,
        "last": checked.last,
        "hash": checked.hash,
        "expectedFound": checked.has_expected,
        "breaks": [{"line": found.number, "what": found.what} for found in breaks],
        "unchained": checked.unchained,
        "unrecorded": checked.unrecorded,
        "unconfirmed": list(checked.unconfirmed),
    }


def _say(output: Output, checked: Checked, breaks: list[Break], options: argparse.Namespace) -> None:
    write = output.out.paragraph
    first = max(checked.first, options.first)
    if not checked.first:
        write(_NONE)
    elif breaks and breaks[0].number > first:
        # No more than that: lines that were rewritten with hashes of their own fit as well.
        write(f"Lines {first} to {breaks[0].number - 1} fit together.")
    elif not breaks and (last := checked.last - (checked.last in checked.unconfirmed)) >= first:
        write(f"Lines {first} to {last} are whole.")
    for found in breaks[:_MOST_BREAKS]:
        write(f"{found.what[0].upper()}{found.what[1:]}.", "", "red")
    if len(breaks) > _MOST_BREAKS:
        write(f"{len(breaks) - _MOST_BREAKS} more places are not as they were written.")
    if unconfirmed := [number for number in checked.unconfirmed if number >= first]:
        write(_unconfirmed(unconfirmed))
    if not checked.has_expected:
        write("No line has the expected hash: the log was rewritten, or that line is no longer kept.")
    _say_limits(output, checked)


def _unconfirmed(numbers: list[int]) -> str:
    reason = "was ended before it could confirm that (as by a kill), or somebody else added"
    if len(numbers) == 1:
        return f"Line {numbers[0]} is not confirmed: the process that wrote it {reason} the line."
    named = ", ".join(map(str, numbers[-_MOST_NAMED:]))
    which = f"the last of them {named}" if len(numbers) > _MOST_NAMED else named
    return f"{len(numbers)} lines are not confirmed ({which}): the process that wrote each {reason} it."


def _say_limits(output: Output, checked: Checked) -> None:
    """What the check can't say anything about."""
    if checked.first > 1:
        output.note(f"Lines before {checked.first} are no longer kept.")
    if checked.unchained:
        lines = counted(checked.unchained, "line")
        output.note(f"{lines} of an older version of Toolcrib can't be checked.")
    if checked.unrecorded:
        calls = counted(checked.unrecorded, "line")
        output.note(f"{calls} could not be written when they were due.")


def _export(options: argparse.Namespace, output: Output, log: Path) -> int:
    if options.head:
        checked = check_log(log)
        if output.as_json:
            output.json({"n": checked.last, "hash": checked.hash})
        elif checked.hash:
            output.out.write(f"{checked.last} {checked.hash}")
        else:
            output.note(_NONE)
        return OK
    if options.format == "csv":
        _write_table(output, AuditTrail(log).last(lambda _: True))
        return OK
    for file in files_of_log(log):
        if not file.is_file():
            continue
        # Byte for byte: only so can they be checked elsewhere. Lines of ours are plain ASCII, others are made so.
        with file.open("r", encoding="ascii", errors="backslashreplace", newline="\n") as lines:
            for line in lines:
                output.out.write(clean(line.rstrip("\n")))
    return OK


def _write_table(output: Output, records: Iterable[AuditRecord]) -> None:
    table = csv.writer(output.out.stream, lineterminator="\n")
    table.writerow(_TABLE)
    for record in records:
        told = _record_json(record)
        told["argumentNames"] = " ".join(record.argument_names)
        table.writerow(_cell(told.get(name, "")) for name in _TABLE)


def _cell(value: object) -> str:
    text = clean(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
