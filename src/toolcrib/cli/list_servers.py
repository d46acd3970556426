"""`toolcrib list`: the configured servers, and those that are switched off."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from toolcrib.cli.ages import ago
from toolcrib.cli.chosen import where_disabled
from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import CatalogSession, open_for_reading
from toolcrib.cli.output import Output
from toolcrib.cli.table import print_table
from toolcrib.cli.terminal import Terminal
from toolcrib.cli.wording import counted, with_times
from toolcrib.model.advice import SWITCHED_OFF
from toolcrib.model.server import Origin, ServerSpec
from toolcrib.model.status import DISCONNECTED
from toolcrib.model.tool import summarize
from toolcrib.model.view import ServerSummary
from toolcrib.queries.json_forms import server_json
from toolcrib.queries.summaries import server_view, shown_entry

# `ready` is the usual state: the tools are known, and the server starts on its first call.
State = Literal["connected", "ready", "unread", "error", "disabled"]

_SIGNS: dict[State, str] = {"connected": "✓", "ready": "·", "unread": "?", "error": "✗", "disabled": "-"}
_WORDS: dict[State, str] = {
    "connected": "connected",
    "ready": "ready",
    "unread": "not read",
    "error": "error",
    "disabled": "disabled",
}
_TO_KNOW: dict[State, str] = {
    "ready": "A ready server starts on its first call.",
    "unread": "`toolcrib warm` reads those that were not read yet.",
    "error": "`toolcrib doctor` says what to do about an error.",
}
# Of the clients that use a server so many are named, none with an endless name.
MOST_USERS = 4
MOST_NAME_CHARACTERS = 40
_STYLES: dict[State, str] = {
    "connected": "green",
    "ready": "green",
    "unread": "yellow",
    "error": "red",
    "disabled": "dim",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list: what is known of a server, its state, the gateways that hold it, and the clients that use it."""

    server: ServerSummary
    state: State
    origin: Origin
    was_read: bool
    pids: tuple[int, ...] = ()
    failed_at: float | None = None
    users: Mapping[str, int] = field(default_factory=dict)


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    with open_for_reading(options, output) as session:
        listed = [_listed(session, spec) for spec in _shown(session)]
        if output.as_json:
            output.json(_as_json(session, listed))
        else:
            _print(session, listed, options, output.out)
    return OK


def _shown(session: CatalogSession) -> list[ServerSpec]:
    """The configured servers, those that are switched off too, then those that were found."""
    if not session.settings.enabled:
        return []
    configured = {spec.name: spec for spec in session.settings.servers}
    return list(
        {**configured, **{name: spec for name, spec in session.view.specs.items() if name not in configured}}.values()
    )


def _listed(session: CatalogSession, spec: ServerSpec) -> Listed:
    was_read = session.view.catalog.was_read(spec)
    if not spec.enabled:
        return Listed(_switched_off(session, spec), "disabled", spec.origin, was_read)
    server = server_view(session.view, spec.name, session.status(spec.name))
    pids = tuple(row.pid for row in session.holders(spec.name))
    broken = session.view.broken(spec.name)
    failed_at = broken.error_at if broken is not None else None
    state = _state(server, was_read=was_read)
    return Listed(server, state, spec.origin, was_read, pids, failed_at, session.users(spec.name))


def _switched_off(session: CatalogSession, spec: ServerSpec) -> ServerSummary:
    """A server that nobody is offered; its tools are counted as they were last read."""
    record = session.view.catalog.record(spec)
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


def _print(session: CatalogSession, listed: list[Listed], options: argparse.Namespace, out: Terminal) -> None:
    if not listed:
        out.paragraph(_why_none(session))
        return
    # Either option alone leaves the other column out; without any, both are shown.
    columns = Columns(state=options.status or not options.tools, tools=options.tools or not options.status)
    print_table(out, columns.headings, [columns.row(one) for one in listed], [_STYLES.get(one.state) for one in listed])
    out.write()
    for sentence in _summary(listed):
        out.paragraph(sentence)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns the table has besides the name and what there is to say."""

    state: bool
    tools: bool

    @property
    def headings(self) -> list[str]:
        return ["SERVER", *(["STATE"] if self.state else []), *(["TOOLS"] if self.tools else []), "ABOUT"]

    def row(self, one: Listed) -> list[str]:
        state = [_state_words(one)] if self.state else []
        tools = [_tools(one)] if self.tools else []
        return [f"{_SIGNS[one.state]} {one.server.name}", *state, *tools, _about(one)]


def _state_words(one: Listed) -> str:
    """The state, and for a connected server the clients that use it."""
    named = [_shown_user(name, sessions) for name, sessions in list(one.users.items())[:MOST_USERS]]
    if len(one.users) > MOST_USERS:
        named.append(f"{len(one.users) - MOST_USERS} more")
    return f"{_WORDS[one.state]} ({', '.join(named)})" if named else _WORDS[one.state]


def _shown_user(name: str, sessions: int) -> str:
    return with_times(summarize(name, MOST_NAME_CHARACTERS), sessions)


def _tools(one: Listed) -> str:
    """How many tools are offered, and of how many where rules hold some back."""
    total, enabled = one.server.tool_count, one.server.enabled_count
    if not total and not one.was_read:
        return "-"
    return str(total) if enabled == total or one.state == "disabled" else f"{enabled} of {total}"


def _about(one: Listed) -> str:
    description = summarize(one.server.description)
    match one.state:
        case "connected":
            return f"{description} (held by {', '.join(f'gateway pid {pid}' for pid in one.pids)})"
        case "ready" | "unread":
            return description
        case "error":
            when = f" ({ago(time.time() - one.failed_at)})" if one.failed_at is not None else ""
            return f"{one.server.status.reason.partition(chr(10))[0]}{when}"
        case "disabled":
            return where_disabled(one.server.name, one.origin)


def _summary(listed: list[Listed]) -> list[str]:
    """How many there are of each kind, and what to know of those kinds."""
    numbers = Counter(one.state for one in listed)
    words = {**_WORDS, "error": "with an error", "unread": "not read yet"}
    kinds = ", ".join(f"{numbers[state]} {word}" for state, word in words.items() if numbers[state])
    told = [words for state, words in _TO_KNOW.items() if numbers[state]]
    if waiting := sum(one.server.waiting_count for one in listed):
        told.append(
            f"{counted(waiting, 'definition')} can't be used until you agree: `toolcrib approvals` shows what waits for you."
        )
    return [f"{counted(len(listed), 'server')}: {kinds}.", *([" ".join(told)] if told else [])]


def _why_none(session: CatalogSession) -> str:
    if not session.settings.enabled:
        return SWITCHED_OFF
    return (
        "No server is configured yet. `toolcrib add NAME -- COMMAND` adds one; "
        "`toolcrib config sources` shows where servers are looked for."
    )


def _as_json(session: CatalogSession, listed: list[Listed]) -> dict[str, Any]:
    return {
        "servers": [_server_json(one) for one in listed],
        "gateways": [{"pid": row.pid, "face": row.face, "startedAt": row.started_at} for row in session.gateways],
    }


def _server_json(one: Listed) -> dict[str, Any]:
    server = one.server
    rendered = {
        **server_json(server),
        "state": one.state,
        "transport": server.transport,
        "wasRead": one.was_read,
        "pids": list(one.pids),
        "users": dict(one.users),
    }
    if server.title:
        rendered["title"] = server.title
    if server.status.reason:
        rendered["reason"] = server.status.reason
    if one.failed_at is not None:
        rendered["failedAt"] = one.failed_at
    return rendered
