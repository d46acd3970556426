"""`toolcrib approvals why`: what decides now whether a tool can be used, who agreed to it, and what waits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.approvals.proposal import Proposal
from toolcrib.cli.approval_text import date, decided, decision_json
from toolcrib.cli.change_text import finding_json, finding_line
from toolcrib.cli.exits import OK
from toolcrib.cli.opened_capabilities import Opened
from toolcrib.cli.output import Output
from toolcrib.cli.terminal import Terminal
from toolcrib.model.availability import State
from toolcrib.model.clean_text import clean
from toolcrib.model.finding import Finding
from toolcrib.model.pin import Pin, PinKey
from toolcrib.model.shell_words import shell_word
from toolcrib.model.tool import split_id
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import missing

_WORDS = {
    "enabled": "can be used",
    "fallback": "can be used, though its server could not be read",
    "disabled": "is switched off",
    "changed": "has changed, and waits for your review",
    "pending": "is new, and waits for your review",
    "quarantined": "looks hostile, and waits for your review",
}
# Of these the words say it all.
_SAID: frozenset[State] = frozenset({"changed", "pending"})
_AGREED = {
    "first reading": "with the first reading",
    "upgrade": "as a version without reviews knew it",
    "cosmetic": "since the change only mended the layout or a typo",
    "warn": "since changes are only warned of",
}


@dataclass(frozen=True, slots=True)
class _Told:
    """All that decides about one thing that a server offers."""

    visible: VisibleTool
    pin: Pin | None
    findings: Sequence[Finding]
    # What waits for a decision about it as it is, or was rejected.
    request: Proposal | None = None
    # Why a person agreed to it.
    reason: str = ""


def run(options: argparse.Namespace, output: Output, door: Opened) -> int:
    view = door.capabilities.view
    server, tool = split_id("", options.name)
    server, tool = (server, tool) if server else (tool, "")
    asked = list(_asked(view, server, tool))
    requests, found = door.capabilities.approvals.all(), view.findings(server)
    told = [_told(view, one, requests, [finding for name, finding in found if name == one.tool.name]) for one in asked]
    if output.as_json:
        output.json({"server": server, "tools": [_as_json(one) for one in told]})
        return OK
    for one in told:
        _print(output, one)
    if not told:
        output.out.paragraph(_why_nothing(view, server))
    return OK


def _why_nothing(view: CatalogView, server: str) -> str:
    """Why there is nothing to say of a server."""
    if (broken := view.broken(server)) is not None:
        return f"{clean(server)} could not be read: {broken.error}\n`toolcrib doctor {shell_word(server)}` says what to do."
    if not view.was_read(server):
        return f"{clean(server)} has not been read yet: `toolcrib discover {shell_word(server)}` reads it."
    return f"{clean(server)} offers nothing."


def _asked(view: CatalogView, server: str, tool: str) -> Iterator[VisibleTool]:
    if tool:
        found = view.find(server, tool)
        if found is None:
            raise missing(view, server, tool)
        yield found
        return
    if not view.knows(server):
        raise missing(view, server, "")
    yield from (*view.tools(server).values(), *view.items(server).values())


def _told(view: CatalogView, visible: VisibleTool, requests: Sequence[Proposal], findings: Sequence[Finding]) -> _Told:
    spec, key = visible.spec, (visible.tool.kind, visible.upstream_name)
    pins = None if spec is None else view.catalog.pins(spec)
    if spec is None or pins is None:
        return _Told(visible, None, findings)
    about = [one for one in requests if one.review_key == pins.review_key]
    # Entries that differ in their token alone share what was agreed to; each has requests of its own.
    about.sort(key=lambda one: (one.server != spec.name, -one.version))
    pin = pins.agreed(key, visible.tool.fingerprint) or pins.pins.get(key)
    return _Told(visible, pin, findings, _request_about(visible, key, about), _reason_for(pin, about))


def _request_about(visible: VisibleTool, key: PinKey, about: Sequence[Proposal]) -> Proposal | None:
    """The request that keeps it away; none where it can be used, whatever else the server may offer by its name."""
    if not visible.availability.hides_words:
        return None
    state = "rejected" if visible.availability.rejected else "pending"
    offered = (*key, visible.tool.fingerprint)
    return next((one for one in about if one.state == state and offered in one.definitions_asked_about), None)


def _reason_for(pin: Pin | None, about: Sequence[Proposal]) -> str:
    if pin is None or not pin.is_by_person:
        return ""
    agreed = (pin.kind, pin.name, pin.fingerprint)
    found = (decision for one in about if (decision := one.agreement_to(agreed)) is not None)
    return next((decision.reason for decision in found), "")


def _print(output: Output, told: _Told) -> None:
    out, availability = output.out, told.visible.availability
    state = "can't be used" if availability.rejected else _WORDS[availability.state]
    out.paragraph(f"{clean(told.visible.tool.id)} {state}", "", "bold")
    if availability.reason and (availability.rejected or availability.state not in _SAID):
        out.paragraph(clean(availability.reason), "  ")
    if told.pin is not None:
        by = told.pin.by.removeprefix("person:") if told.pin.is_by_person else _AGREED.get(told.pin.by, told.pin.by)
        is_this = told.pin.fingerprint == told.visible.tool.fingerprint
        what = "Agreed to" if is_this else "Another definition was agreed to"
        why = f": {clean(told.reason)}" if told.reason else ""
        out.paragraph(f"{what}: {date(told.pin.at)}, {'by ' if told.pin.is_by_person else ''}{clean(by)}{why}", "  ")
    for finding in told.findings:
        out.paragraph(finding_line(finding), "  ")
    if told.request is not None:
        _print_request(out, told.request)


def _print_request(out: Terminal, request: Proposal) -> None:
    if request.state == "pending":
        out.paragraph(f"See `toolcrib approvals show {request.id}`.", "  ")
        return
    out.paragraph(f"Rejected: {decided(request.decision)}", "  ")
    out.paragraph(f"To use it after all: `toolcrib approvals approve {request.id}`.", "  ")


def _as_json(told: _Told) -> dict[str, Any]:
    tool, availability = told.visible.tool, told.visible.availability
    rendered: dict[str, Any] = {"name": tool.name, "kind": tool.kind, "state": availability.state}
    if availability.reason:
        rendered["reason"] = availability.reason
    if told.pin is not None:
        rendered["agreed"] = {"by": told.pin.by, "at": told.pin.at}
        if told.reason:
            rendered["agreed"]["reason"] = told.reason
    if told.findings:
        rendered["findings"] = [finding_json(finding) for finding in told.findings]
    if told.request is None:
        return rendered
    if told.request.state == "rejected":
        rendered["rejected"] = decision_json(told.request.decision)
    return {**rendered, "request": told.request.id}
