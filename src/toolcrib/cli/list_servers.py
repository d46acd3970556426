"""`toolcrib list`: the servers behind the counter, and those that are switched off."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from toolcrib.answers import SWITCHED_OFF
from toolcrib.cli.chosen import where_disabled
from toolcrib.cli.exits import OK
from toolcrib.cli.output import Output
from toolcrib.cli.reading import Reading, open_for_reading
from toolcrib.cli.terminal import clean
from toolcrib.model.server import Origin, ServerSpec
from toolcrib.model.status import DISCONNECTED
from toolcrib.model.view import ServerSummary
from toolcrib.views import server_view, shown_entry

# `ready` is the usual state: the tools are known, and the server starts on its first call.
State = Literal["connected", "ready", "unread", "error", "disabled"]

_SIGNS: dict[State, str] = {"connected": "✓", "ready": "·", "unread": "?", "error": "✗", "disabled": "-"}
_STYLES: dict[State, str] = {
    "connected": "green",
    "ready": "green",
    "unread": "yellow",
    "error": "red",
    "disabled": "dim",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list: what is known of a server, how it stands, and the gateways that hold it."""

    server: ServerSummary
    state: State
    origin: Origin
    was_read: bool
    pids: tuple[int, ...] = ()


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    with open_for_reading(options, output) as reading:
        specs = reading.settings.servers if reading.settings.enabled else ()
        listed = [_listed(reading, spec) for spec in specs]
        if output.as_json:
            output.json(_as_json(reading, listed))
        else:
            _print(reading, listed, options, output)
    return OK


def _listed(reading: Reading, spec: ServerSpec) -> Listed:
    was_read = reading.stock.was_read(spec.name)
    if not spec.enabled:
        return Listed(_switched_off(reading, spec), "disabled", spec.origin, was_read)
    server = server_view(reading.stock, spec.name, reading.status(spec.name))
    pids = tuple(row.pid for row in reading.holders(spec.name))
    return Listed(server, _state(server, was_read=was_read), spec.origin, was_read, pids)


def _switched_off(reading: Reading, spec: ServerSpec) -> ServerSummary:
    """A server that nobody is offered; its tools are counted as they were last read."""
    record = reading.stock.record(spec.name)
    return ServerSummary(
        name=spec.name,
        description=spec.description or f"MCP server: {spec.name}",
        tool_count=record.tool_count if record is not None else 0,
        enabled_count=0,
        status=DISCONNECTED,
        title=spec.title,
        transport=spec.launch.transport,
        configure=partial(shown_entry, spec),
    )


def _state(server: ServerSummary, *, was_read: bool) -> State:
    if server.status.state != "disconnected":
        return server.status.state
    return "ready" if was_read else "unread"


def _print(reading: Reading, listed: list[Listed], options: argparse.Namespace, output: Output) -> None:
    # Either option alone leaves the other detail out; without any, both are shown.
    wants_both = options.status == options.tools
    out = output.out
    out.write(out.paint(f"MCP Servers ({_counted(listed)}):", "bold"))
    if not listed:
        out.write()
        out.write(_why_none(reading))
    for one in listed:
        out.write()
        sign = out.paint(_SIGNS[one.state], _STYLES[one.state])
        detail = _detail(one, counted=wants_both or options.tools)
        out.write(f"{sign} {out.paint(clean(one.server.name), 'bold')}{detail}")
        out.paragraph(clean(one.server.description), "  ")
        if wants_both or options.status:
            out.paragraph(f"Status: {_status(one)}", "  ")


def _counted(listed: list[Listed]) -> str:
    off = sum(one.state == "disabled" for one in listed)
    return f"{len(listed)} configured{f', {off} disabled' if off else ''}"


def _detail(one: Listed, *, counted: bool) -> str:
    if one.state == "disabled":
        return " (disabled)"
    count = one.server.tool_count
    return f" ({count} tool{'' if count == 1 else 's'})" if counted else ""


def _status(one: Listed) -> str:
    match one.state:
        case "connected":
            return f"Connected ({', '.join(f'gateway pid {pid}' for pid in one.pids)})"
        case "ready":
            return "Ready (starts on the first call)"
        case "unread":
            return "Not read yet (`toolcrib warm` reads it)"
        case "error":
            return f"Error: {clean(one.server.status.reason)}"
        case "disabled":
            return f"Disabled ({clean(where_disabled(one.server.name, one.origin))})"


def _why_none(reading: Reading) -> str:
    if not reading.settings.enabled:
        return SWITCHED_OFF
    return "No server is configured yet. `toolcrib config sources` shows where servers are looked for."


def _as_json(reading: Reading, listed: list[Listed]) -> dict[str, Any]:
    return {
        "servers": [_server_json(one) for one in listed],
        "gateways": [{"pid": row.pid, "face": row.face, "startedAt": row.started_at} for row in reading.gateways],
    }


def _server_json(one: Listed) -> dict[str, Any]:
    server = one.server
    rendered: dict[str, Any] = {
        "name": server.name,
        "description": server.description,
        "toolCount": server.tool_count,
        "enabledCount": server.enabled_count,
        "status": server.status.state,
        "state": one.state,
        "transport": server.transport,
        "wasRead": one.was_read,
        "pids": list(one.pids),
    }
    if server.title:
        rendered["title"] = server.title
    if server.status.reason:
        rendered["reason"] = server.status.reason
    return rendered
