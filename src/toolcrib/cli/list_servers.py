"""`toolcrib list`: the servers behind the counter."""

from __future__ import annotations

import argparse
from typing import Any

from toolcrib.cli.exits import OK
from toolcrib.cli.output import Output
from toolcrib.cli.reading import Reading, open_for_reading
from toolcrib.cli.terminal import clean
from toolcrib.model.view import ServerSummary
from toolcrib.views import server_view


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    with open_for_reading(options, output) as reading:
        servers = [server_view(reading.stock, name, reading.status(name)) for name in reading.stock.specs]
        if output.as_json:
            output.json(_as_json(reading, servers))
        else:
            _print(reading, servers, options, output)
    return OK


def _print(reading: Reading, servers: list[ServerSummary], options: argparse.Namespace, output: Output) -> None:
    # Either option alone leaves the other detail out; without any, both are shown.
    wants_both = options.status == options.tools
    out = output.out
    out.write(out.paint(f"MCP Servers ({len(servers)} configured):", "bold"))
    if not servers:
        out.write()
        out.write(_why_none(reading))
    for server in servers:
        out.write()
        counted = wants_both or options.tools
        sign = out.paint("✓", "green") if server.status.state == "connected" else _cross(server, output)
        tools = f" ({_tools(server.tool_count)})" if counted else ""
        out.write(f"{sign} {out.paint(clean(server.name), 'bold')}{tools}")
        out.paragraph(clean(server.description), "  ")
        if wants_both or options.status:
            out.paragraph(f"Status: {_status(reading, server)}", "  ")


def _cross(server: ServerSummary, output: Output) -> str:
    return output.out.paint("✗", "red" if server.status.state == "error" else "dim")


def _tools(count: int) -> str:
    return f"{count} tool" if count == 1 else f"{count} tools"


def _status(reading: Reading, server: ServerSummary) -> str:
    if server.status.state == "connected":
        return f"Connected ({_held_by(reading, server.name)})"
    if server.status.state == "error":
        return f"Error: {clean(server.status.reason)}"
    if reading.stock.was_read(server.name):
        return "Disconnected (starts on the first call)"
    return "Disconnected (not read yet)"


def _held_by(reading: Reading, server: str) -> str:
    return ", ".join(f"gateway pid {row.pid}" for row in reading.holders(server))


def _why_none(reading: Reading) -> str:
    if not reading.settings.enabled:
        return "Discovery is switched off in the configuration (discovery.enabled: false)."
    return "No server is configured yet. `toolcrib config sources` shows where servers are looked for."


def _as_json(reading: Reading, servers: list[ServerSummary]) -> dict[str, Any]:
    return {
        "servers": [_server_json(reading, server) for server in servers],
        "gateways": [{"pid": row.pid, "face": row.face, "startedAt": row.started_at} for row in reading.gateways],
    }


def _server_json(reading: Reading, server: ServerSummary) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "name": server.name,
        "description": server.description,
        "toolCount": server.tool_count,
        "enabledCount": server.enabled_count,
        "status": server.status.state,
        "transport": server.transport,
        "wasRead": reading.stock.was_read(server.name),
        "pids": [row.pid for row in reading.holders(server.name)],
    }
    if server.title:
        rendered["title"] = server.title
    if server.status.reason:
        rendered["reason"] = server.status.reason
    return rendered
