"""A proposal in words for people, and as JSON."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from toolcrib.approvals.proposal import Accepted, Decision, Proposal
from toolcrib.approvals.risk import Risk
from toolcrib.approvals.shown_launch import shown_launch
from toolcrib.ccos.manifest import capability_id
from toolcrib.cli.change_text import change_json, finding_json, finding_line, print_changes, print_members
from toolcrib.cli.launch_text import launch_lines
from toolcrib.cli.terminal import Terminal
from toolcrib.model.clean_text import clean
from toolcrib.model.finding import Finding
from toolcrib.model.pin import PinKey
from toolcrib.model.tool import Tool
from toolcrib.schema.convert import convert
from toolcrib.schema.signature import signature

_IN_USE = "a server that you use"

_NOT_READ = "Its tools are not known."
_NOT_READ_THEN = "Its tools were not known then; `toolcrib tools` shows those of a server that you use."


def date(seconds: float | None) -> str:
    """A moment as people write it, in the time of this machine."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def print_proposal(out: Terminal, proposal: Proposal) -> None:
    """All that somebody who decides has to see: nothing is shortened."""
    out.write(out.paint(f"{clean(proposal.server)} ({proposal.state}, version {proposal.version})", "bold"))
    for label, text in _lines(proposal):
        if text:
            out.paragraph(f"{label}: {clean(text)}", "  ")
    if proposal.subject == "tools":
        print_changes(out, proposal.changes)
        return
    out.write()
    if not proposal.was_read:
        out.paragraph(_NOT_READ if proposal.state == "pending" else _NOT_READ_THEN, "  ")
    for tool in _tools(proposal):
        out.paragraph(clean(signature(tool.name, convert(tool.input_schema).type)), "  ", "bold")
        for finding in _findings(tool):
            out.paragraph(finding_line(finding), "    ", "red" if finding.is_hard else "yellow")
        print_members(out, tool.definition)


def print_in_short(out: Terminal, proposal: Proposal) -> None:
    """Which request it is, for somebody who is about to reject it."""
    out.write(out.paint(f"{clean(proposal.server)} ({proposal.state}, version {proposal.version})", "bold"))
    names = ", ".join(definition_name(change.key) for change in proposal.changes)
    about = [("Changes", counted_changes(proposal)), ("Names", names)] if proposal.subject == "tools" else []
    for label, text in [("Request", proposal.id), *launch_lines(proposal.launch), *about]:
        out.paragraph(f"{label}: {clean(text)}", "  ")


def risk_line(risk: Risk) -> str:
    """The level and the reasons for it."""
    return f"{risk.level}: {'; '.join(risk.reasons)}"


def counted_changes(proposal: Proposal) -> str:
    """`2 changed, 1 new`."""
    numbers = Counter(change.verdict for change in proposal.changes)
    return ", ".join(f"{numbers[verdict]} {verdict}" for verdict in ("changed", "new", "hostile") if numbers[verdict])


def asked_by(proposal: Proposal) -> str:
    """Where a request comes from, in a word or two."""
    return "its server" if proposal.subject == "tools" else proposal.source


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
        "subject": proposal.subject,
    }
    if proposal.subject == "tools":
        del body["toolCount"]
        body["changes"] = [{"kind": one.kind, "name": one.name, "verdict": one.verdict} for one in proposal.changes]
    if decision is not None:
        body["decision"] = decision_json(decision)
    if proposal.accepted:
        body["accepted"] = [_accepted_json(one) for one in proposal.accepted]
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
    if in_full and proposal.subject == "tools":
        body["changes"] = [change_json(change) for change in proposal.changes]
    return body


def decision_json(decision: Decision | None) -> dict[str, Any] | None:
    return None if decision is None else {"by": decision.by, "at": decision.at, "reason": decision.reason}


def decided(decision: Decision | None) -> str:
    """When somebody decided, who it was, and why if they said so."""
    if decision is None:
        return ""
    why = f": {clean(decision.reason)}" if decision.reason else ""
    return f"{date(decision.at)}, by {clean(decision.by)}{why}"


def _accepted_json(accepted: Accepted) -> dict[str, Any]:
    definitions = [{"kind": kind, "name": name} for kind, name, _ in accepted.definitions]
    return {"definitions": definitions, "decision": decision_json(accepted.decision)}


def definition_name(key: PinKey) -> str:
    """What a person calls one of the things that a server offers."""
    kind, name = key
    return name if kind == "tool" else f"{kind} {name}" if name else "what it says of itself"


def _lines(proposal: Proposal) -> list[tuple[str, str]]:
    info = proposal.server_info
    return [
        ("Request", proposal.id),
        *launch_lines(proposal.launch),
        ("Calls itself", " ".join(str(info[key]) for key in ("name", "version") if info.get(key))),
        ("Description", proposal.description),
        ("Proposed by", proposal.source) if proposal.subject == "server" else ("About", _IN_USE),
        ("Wanted for", proposal.goal),
        ("Since", date(proposal.requested_at)),
        ("Expires", date(proposal.expires_at) if proposal.state == "pending" else ""),
        ("Risk", risk_line(proposal.risk)),
        ("Note", proposal.note),
        *((f"Agreed to {_accepted_names(one)}", decided(one.decision)) for one in proposal.accepted),
        ("Decided", decided(proposal.decision)),
    ]


def _accepted_names(accepted: Accepted) -> str:
    return ", ".join(clean(definition_name((kind, name))) for kind, name, _ in accepted.definitions)


def _tools(proposal: Proposal) -> list[Tool]:
    return [Tool(proposal.server, str(one.get("name")), one) for one in proposal.definitions]


def _tool_json(proposal: Proposal, tool: Tool) -> dict[str, Any]:
    told = {"id": capability_id(proposal.server, tool.name), "definition": dict(tool.definition)}
    found = [finding_json(finding) for finding in _findings(tool)]
    return {**told, "findings": found} if found else told


def _findings(tool: Tool) -> list[Finding]:
    """What looks hostile in a definition by itself, whoever else is there."""
    # Only here: it has hundreds of patterns to prepare.
    found = import_module("toolcrib.scanner.scan").scan(tool.definition)
    return [finding for finding in found if not finding.is_latent]
