"""`toolcrib tools`: what one server offers."""

from __future__ import annotations

import argparse

from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import open_for_reading
from toolcrib.cli.output import Output
from toolcrib.cli.terminal import Terminal
from toolcrib.model.clean_text import clean
from toolcrib.model.shell_words import shell_word
from toolcrib.model.view import ToolSummary
from toolcrib.queries.json_forms import tool_json
from toolcrib.queries.summaries import tool_view


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    with open_for_reading(options, output, server=options.server) as session:
        session.need_server(options.server)
        tools = [tool_view(visible) for visible in session.view.tools(options.server).values()]
        items = [tool_view(visible) for visible in session.view.items(options.server).values()]
        if not session.view.was_read(options.server):
            record = session.view.record(options.server)
            reason = f": {record.error}" if record is not None and record.error else ""
            output.note(f"{options.server} has not been read yet{reason}")
    shown = [tool for tool in tools if tool.enabled or options.all]
    others = [item for item in items if item.enabled or options.all]
    if output.as_json:
        more = {"items": [tool_json(item) for item in others]} if others else {}
        output.json({"server": options.server, "tools": [tool_json(tool) for tool in shown], **more})
    else:
        _print(options, output, tools, shown)
        _print_items(options, output, others)
    return OK


def _print(options: argparse.Namespace, output: Output, tools: list[ToolSummary], shown: list[ToolSummary]) -> None:
    out = output.out
    enabled, waiting = sum(tool.enabled for tool in tools), sum(tool.waits for tool in tools)
    counts = f"{enabled} enabled, {len(tools) - enabled - waiting} disabled"
    counts += f", {waiting} waiting for you" if waiting else ""
    out.write(out.paint(f"Tools from {clean(options.server)} ({counts}):", "bold"))
    for tool in shown:
        _print_one(options, out, tool)
    if waiting:
        out.write()
        out.paragraph(f"`toolcrib approvals show {shell_word(options.server)}` shows what waits for you.")


def _print_items(options: argparse.Namespace, output: Output, items: list[ToolSummary]) -> None:
    """What the server has besides tools, kind by kind."""
    out = output.out
    for kind, title in (("prompt", "Prompts"), ("resource", "Resources"), ("template", "Resource templates")):
        of_kind = [item for item in items if item.kind == kind]
        if of_kind:
            out.write()
            out.write(out.paint(f"{title} ({len(of_kind)}):", "bold"))
        for item in of_kind:
            _print_one(options, out, item)


def _print_one(options: argparse.Namespace, out: Terminal, tool: ToolSummary) -> None:
    sign = out.paint("✓", "green") if tool.enabled else out.paint("✗", "red")
    out.write()
    state = "" if tool.enabled else " (waits for you)" if tool.waits else " (disabled)"
    out.write(f"{sign} {out.paint(clean(tool.name), 'bold')}{state}")
    if tool.unreviewed:
        out.paragraph(clean(tool.reason), "  ")
    if tool.summary:
        out.paragraph(clean(tool.summary), "  ")
    if options.tags and tool.tags:
        out.paragraph(f"Tags: {clean(', '.join(tool.tags))}", "  ", "dim")
