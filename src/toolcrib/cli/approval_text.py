"""A proposal in words for people, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from toolcrib.approvals.proposal import Proposal, shown_launch
from toolcrib.ccos.manifest import capability_id
from toolcrib.cli.terminal import Terminal
from toolcrib.model.clean_text import clean
from toolcrib.model.server import RemoteLaunch
from toolcrib.model.shell_words import shell_word
from toolcrib.model.tool import Tool
from toolcrib.schema.convert import convert
from toolcrib.schema.signature import signature


def date(seconds: float | None) -> str:
    """A moment as people write it, in the time of this machine."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def print_proposal(out: Terminal, proposal: Proposal) -> None:
    """All that somebody who decides has to see: nothing is shortened."""
    out.write(out.paint(f"{clean(proposal.server)} ({proposal.state}, version {proposal.version})", "bold"))
    for label, text in _lines(proposal):
        if text:
            out.paragraph(f"{label}: {clean(text)}", "  ")
    out.write()
    if not proposal.was_read:
        out.paragraph("Its tools are not known.", "  ")
    for tool in _tools(proposal):
        out.paragraph(clean(signature(tool.name, convert(tool.input_schema).type)), "  ", "bold")
        out.paragraph(tool.description, "    ")


def as_json(proposal: Proposal, *, in_full: bool = False) -> dict[str, Any]:
    decision = proposal.decision
    body: dict[str, Any] = {
        "id": proposal.id,
        "server": proposal.server,
        "version": proposal.version,
        "state": proposal.state,
        "source": proposal.source,
        "launch": shown_launch(proposal.launch),
        "toolCount": len(proposal.definitions),
        "risk": {"level": proposal.risk.level, "reasons": list(proposal.risk.reasons)},
        "requestedAt": proposal.requested_at,
        "expiresAt": proposal.expires_at,
    }
    if decision is not None:
        body["decision"] = {"by": decision.by, "at": decision.at, "reason": decision.reason}
    if in_full:
        body |= {
            "title": proposal.title,
            "description": proposal.description,
            "goal": proposal.goal,
            "note": proposal.note,
            "authEnvVar": proposal.auth_env_var,
            "serverInfo": dict(proposal.server_info),
            "tools": [_tool_json(proposal, tool) for tool in _tools(proposal)],
        }
    return body


def _lines(proposal: Proposal) -> list[tuple[str, str]]:
    decision, info = proposal.decision, proposal.server_info
    return [
        ("Request", proposal.id),
        *_reached(proposal),
        ("Calls itself", " ".join(str(info[key]) for key in ("name", "version") if info.get(key))),
        ("Description", proposal.description),
        ("Proposed by", proposal.source),
        ("Wanted for", proposal.goal),
        ("Since", f"{date(proposal.requested_at)}, until {date(proposal.expires_at)}"),
        ("Risk", f"{proposal.risk.level}: {'; '.join(proposal.risk.reasons)}"),
        ("Note", proposal.note),
        ("Decided", f"{decision.by}, {date(decision.at)} {decision.reason}".strip() if decision else ""),
    ]


def _reached(proposal: Proposal) -> list[tuple[str, str]]:
    """The exact launch; credentials in it are covered, whatever else it holds is shown."""
    launch = shown_launch(proposal.launch)
    if isinstance(proposal.launch, RemoteLaunch):
        headers = [("Sends header", f"{name}: {value}") for name, value in launch["headers"].items()]
        return [("Contacts", launch["url"]), *headers]
    variables = [("Gets variable", f"{name}={value}") for name, value in launch.get("env", {}).items()]
    return [("Runs", _command_line(launch["command"], launch["args"])), *variables]


def _command_line(command: str, args: Sequence[str]) -> str:
    """The words of a command as a shell would be told them, so that the ends of each can be seen, and nothing is hidden."""
    return " ".join(map(shell_word, (command, *args)))


def _tools(proposal: Proposal) -> list[Tool]:
    return [Tool(proposal.server, str(one.get("name")), one) for one in proposal.definitions]


def _tool_json(proposal: Proposal, tool: Tool) -> dict[str, Any]:
    return {"id": capability_id(proposal.server, tool.name), "definition": dict(tool.definition)}
