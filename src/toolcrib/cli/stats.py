"""`toolcrib stats`: how much the tools were used, how well that went, and what tokens were saved."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.calls.call_figures import CallFigures, figures, figures_by
from toolcrib.calls.call_filter import CallFilter
from toolcrib.cli.calls import took
from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.cli.since import moment
from toolcrib.cli.table import print_table
from toolcrib.cli.wording import counted
from toolcrib.config.paths import Paths
from toolcrib.engine.open_catalog import open_reading
from toolcrib.queries.token_savings import TokenSavings, definition_tokens, token_savings
from toolcrib.server.definitions import META_TOOLS, MOST_INSTRUCTION_TOKENS
from toolcrib.storage.audit_trail import AuditTrail

_NAMES: Mapping[str, Callable[[AuditRecord], str]] = {
    "server": lambda call: call.server,
    "tool": lambda call: f"{call.server}:{call.tool}",
    "client": lambda call: call.caller,
}
OWN_TOKENS = sum(map(definition_tokens, META_TOOLS)) + MOST_INSTRUCTION_TOKENS


def run(options: argparse.Namespace) -> int:
    output, paths = Output.of(options), Paths.of(os.environ)
    settings = settings_of(options, output)
    since = moment(options.since, time.time())
    calls = AuditTrail(paths.audit_log).last(CallFilter(since=since), since=since)
    whole, groups = figures(calls), figures_by(calls, _NAMES[options.by])
    with closing(open_reading(settings, paths)) as looking:
        savings = token_savings(looking.view, own=OWN_TOKENS, called={_NAMES["tool"](call) for call in calls})
        unread = len(looking.view.specs) - savings.servers
    if output.as_json:
        output.json(_as_json(since, options.by, whole, groups, savings))
        return OK
    _print_calls(output, since, options.by, whole, groups)
    _print_savings(output, savings, unread)
    return OK


def _print_calls(output: Output, since: float, by: str, whole: CallFigures, groups: Mapping[str, CallFigures]) -> None:
    begin = datetime.fromtimestamp(since).astimezone().strftime("%Y-%m-%d %H:%M")
    if not whole.calls:
        output.out.write(f"No call has been recorded since {begin}.")
        return
    output.out.write(f"{counted(whole.calls, 'call')} since {begin}, {whole.failed} failed.")
    output.out.write()
    rows = [_row(name, of_name) for name, of_name in groups.items()]
    print_table(output.out, (by.upper(), *_HEADINGS), [*rows, _row("all", whole)])


_HEADINGS = ("CALLS", "FAILED", "MEDIAN", "P95", "ERRORS")


def _row(name: str, of_name: CallFigures) -> list[str]:
    errors = ", ".join(f"{code} {number}" for code, number in of_name.errors.items())
    times = (took(of_name.median_ms), took(of_name.p95_ms))
    return [name or "-", f"{of_name.calls:,}", f"{of_name.failed:,}", *times, errors]


def _print_savings(output: Output, savings: TokenSavings, unread: int) -> None:
    out = output.out
    out.write()
    if not savings.tools:
        out.paragraph("Tokens saved: nothing to estimate, since no server has been read.")
        return
    out.paragraph(f"Tokens saved at the start of each session: about {savings.saved:,} (an estimate).", "", "bold")
    for line in _formula(savings):
        out.paragraph(line, "  ")
    if unread:
        out.paragraph(f"Not counted, since they have not been read yet: {counted(unread, 'server')}.", "  ")


def _formula(savings: TokenSavings) -> list[str]:
    servers, tools = counted(savings.servers, "enabled server"), counted(savings.tools, "tool")
    loaded = f"name, description and parameters of {tools} on {servers}, which a client without Toolcrib would load"
    finding = f"at most {savings.searching} for a search, {savings.reading:,} for the details of an average tool"
    limit = f"A session that finds more than {savings.tools_until_none:,} tools saves nothing."
    return [
        f"{savings.definitions:,}: {loaded}",
        f"less {savings.own:,}: Toolcrib's five tools, and its instructions (at most {MOST_INSTRUCTION_TOKENS})",
        f"Finding a tool then costs about {savings.finding:,}: {finding}. {limit}",
        "Searches are not recorded, so they are not subtracted.",
    ]


def _as_json(
    since: float, by: str, whole: CallFigures, groups: Mapping[str, CallFigures], savings: TokenSavings
) -> dict[str, Any]:
    return {
        "since": datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
        **_figures_json(whole),
        "by": by,
        "groups": [{"name": name, **_figures_json(of_name)} for name, of_name in groups.items()],
        "tokens": {
            "saved": savings.saved,
            "definitions": savings.definitions,
            "own": savings.own,
            "searching": savings.searching,
            "reading": savings.reading,
            "serverCount": savings.servers,
            "toolCount": savings.tools,
            "formula": "saved = definitions - own, estimated, at the start of each session; finding a tool costs "
            "searching + reading",
        },
    }


def _figures_json(of_name: CallFigures) -> dict[str, Any]:
    return {
        "calls": of_name.calls,
        "failed": of_name.failed,
        "errors": dict(of_name.errors),
        "medianMs": of_name.median_ms,
        "p95Ms": of_name.p95_ms,
    }
