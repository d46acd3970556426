"""`toolcrib approvals`: a person looks at proposed servers and decides."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from toolcrib.adoption.own_file import OwnFile, check_new_server
from toolcrib.approvals.proposal import Proposal
from toolcrib.cli.agreement import agreed, already
from toolcrib.cli.approval_text import as_json, date, print_proposal
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import edit_own_file, site_of
from toolcrib.cli.opened_capabilities import Opened, opened, person
from toolcrib.cli.output import Output
from toolcrib.cli.table import print_table
from toolcrib.cli.terminal import home_as_tilde
from toolcrib.config.load import load_settings
from toolcrib.errors import ValidationError
from toolcrib.model.peer import FROM_PEER
from toolcrib.model.server import RemoteLaunch


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    actions = {"list": _list, "show": _show, "approve": _approve, "reject": _reject}
    with opened(options, output) as door:
        return actions[options.action](options, output, door)


def _list(options: argparse.Namespace, output: Output, door: Opened) -> int:
    found = door.capabilities.approvals.all(None if options.all else options.state)
    if output.as_json:
        output.json({"approvals": [as_json(proposal) for proposal in found]})
        return OK
    if not found:
        output.out.write("Nothing was proposed." if options.all else f"No proposal is {options.state}.")
        return OK
    rows = [
        (one.id, one.state, one.server, _tools(one), one.risk.level, date(one.requested_at), one.source)
        for one in found
    ]
    print_table(output.out, ("REQUEST", "STATE", "SERVER", "TOOLS", "RISK", "SINCE", "FROM"), rows)
    return OK


def _show(options: argparse.Namespace, output: Output, door: Opened) -> int:
    proposal = door.capabilities.approvals.get(options.request)
    if output.as_json:
        output.json(as_json(proposal, in_full=True))
    else:
        print_proposal(output.out, proposal)
    return OK


def _approve(options: argparse.Namespace, output: Output, door: Opened) -> int:
    proposal = door.capabilities.approvals.get(options.request)
    if proposal.source == FROM_PEER:
        return int(import_module("toolcrib.cli.peer_decisions").approve(options, output, door, proposal))
    own = site_of(options).own_file()
    # Anything that prevents writing it is reported before anyone is asked.
    is_written = _with_server(own, proposal) == own.content
    if proposal.state == "approved" and is_written:
        return already(output, proposal)
    if not output.as_json:
        print_proposal(output.out, proposal)
    if not agreed(options):
        output.note("nothing was approved")
        return OK
    if proposal.state != "approved":
        proposal = door.capabilities.review.approve(proposal.id, person(), options.reason, expected=proposal)
    # After the decision: what was not approved must never be in the configuration.
    edit_own_file(options, lambda own: _with_server(own, proposal))
    if not output.as_json:
        output.out.write()
        output.out.paragraph(f"{proposal.server} is approved; it is in {home_as_tilde(str(own.path))}")
    tools = len(proposal.definitions) or _read_now(options, proposal, door, output)
    if output.as_json:
        output.json({"success": True, **as_json(proposal), "toolCount": tools, "config": str(own.path)})
    return OK


def _read_now(options: argparse.Namespace, proposal: Proposal, door: Opened, output: Output) -> int:
    """Start a program that nobody could look into before it was approved; how many tools it has."""
    settings = load_settings(Path(options.config) if options.config else None)
    if all(spec.name != proposal.server for spec in settings.servers):
        return 0  # another configuration is in force here than the one a client would use
    # Only here: starting servers needs the whole protocol stack.
    reading = import_module("toolcrib.cli.approved_reading")
    definitions: list[Mapping[str, Any]] = reading.read_approved(settings, proposal.server, output)
    if definitions:
        door.capabilities.review.show_tools(proposal, definitions)
    return len(definitions)


def _reject(options: argparse.Namespace, output: Output, door: Opened) -> int:
    before = door.capabilities.approvals.get(options.request)
    if before.state == "rejected":
        return already(output, before)
    if before.source == FROM_PEER:
        return int(import_module("toolcrib.cli.peer_decisions").reject(options, output, door, before))
    proposal = door.capabilities.review.reject(before.id, person(), options.reason)
    own = site_of(options).own_file()
    removed = before.state == "approved" and _is_ours(own, proposal)
    if removed:
        edit_own_file(options, lambda own: _without_server(own, proposal))
    if output.as_json:
        output.json({"success": True, **as_json(proposal), "removed": removed})
    else:
        gone = f" and no longer in {home_as_tilde(str(own.path))}" if removed else ""
        output.out.paragraph(f"{proposal.server} is rejected{gone}")
    return OK


def _with_server(own: OwnFile, proposal: Proposal) -> bytes | None:
    """The file with the server in it, as it is where it is there already."""
    if _is_ours(own, proposal):
        return own.content
    if own.place_of(proposal.server):
        raise ValidationError(
            f"{own.path} has another server called {proposal.server}",
            hint=f"`toolcrib remove {proposal.server}` removes it; then approve again.",
        )
    entry = _entry(proposal)
    check_new_server(proposal.server, entry)
    return own.with_servers({proposal.server: entry})


def _without_server(own: OwnFile, proposal: Proposal) -> bytes | None:
    return own.without_servers([proposal.server]) if _is_ours(own, proposal) else own.content


def _is_ours(own: OwnFile, proposal: Proposal) -> bool:
    configured = own.servers.get(proposal.server)
    return configured is not None and configured.launch == proposal.launch


def _entry(proposal: Proposal) -> dict[str, Any]:
    launch = proposal.launch
    if isinstance(launch, RemoteLaunch):
        kind = {"type": launch.transport} if launch.transport != "http" else {}
        reached: dict[str, Any] = {**kind, "url": launch.url, "headers": dict(launch.headers)}
    else:
        reached = {"command": launch.command, "args": list(launch.args), "env": dict(launch.env)}
    entry = {"description": proposal.description, **reached}
    return {key: value for key, value in entry.items() if value}


def _tools(proposal: Proposal) -> str:
    return str(len(proposal.definitions)) if proposal.was_read else "?"
