"""`toolcrib tools`: what one server offers."""

from __future__ import annotations

import argparse
from typing import Any

from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import open_for_reading
from toolcrib.cli.output import Output
from toolcrib.model.clean_text import clean
from toolcrib.workspace.catalog_view import VisibleTool


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    with open_for_reading(options, output, server=options.server) as session:
        session.need_server(options.server)
        visible = list(session.view.tools(options.server).values())
        if not session.view.was_read(options.server):
            record = session.view.record(options.server)
            reason = f": {record.error}" if record is not None and record.error else ""
            output.note(f"{options.server} was not read yet{reason}")
    shown = [tool for tool in visible if tool.enabled or options.all]
    if output.as_json:
        output.json({"server": options.server, "tools": [_as_json(tool) for tool in shown]})
    else:
        _print(options, output, visible, shown)
    return OK


def _print(options: argparse.Namespace, output: Output, visible: list[VisibleTool], shown: list[VisibleTool]) -> None:
    out = output.out
    enabled = sum(tool.enabled for tool in visible)
    counts = f"{enabled} enabled, {len(visible) - enabled} disabled"
    out.write(out.paint(f"Tools from {clean(options.server)} ({counts}):", "bold"))
    for tool in shown:
        sign = out.paint("✓", "green") if tool.enabled else out.paint("✗", "red")
        out.write()
        out.write(f"{sign} {out.paint(clean(tool.tool.name), 'bold')}{'' if tool.enabled else ' (disabled)'}")
        if tool.tool.summary:
            out.paragraph(clean(tool.tool.summary), "  ")
        if options.tags and tool.tags:
            out.paragraph(f"Tags: {clean(', '.join(tool.tags))}", "  ", "dim")


def _as_json(visible: VisibleTool) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "name": visible.tool.name,
        "summary": visible.tool.summary,
        "enabled": visible.enabled,
        "tags": list(visible.tags),
    }
    if not visible.enabled:
        rendered["reason"] = visible.reason
    return rendered
