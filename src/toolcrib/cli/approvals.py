"""`toolcrib approvals`: a person looks at proposed servers and decides."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from toolcrib.adoption.own_file import OwnFile, check_new_server
from toolcrib.approvals.proposal import Proposal
from toolcrib.cli import file_approvals
from toolcrib.cli.agreement import agreed, already, chosen_changes, rejection_agreed
from toolcrib.cli.approval_text import as_json, asked_by, counted_changes, date, print_proposal
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import edit_own_file, site_of
from toolcrib.cli.opened_capabilities import Opened, opened, person
from toolcrib.cli.output import Output
from toolcrib.cli.table import print_table
from toolcrib.cli.terminal import home_as_tilde
from toolcrib.config.load import load_settings
from toolcrib.config.package_versions import unpinned_packages
from toolcrib.config.written_entry import launch_keys
from toolcrib.errors import ValidationError
from toolcrib.model.clean_text import clean
from toolcrib.model.peer import FROM_PEER
from toolcrib.model.server import RemoteLaunch
from toolcrib.model.shell_words import shell_word


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    actions = {"list": _list, "show": _show, "approve": _approve, "reject": _reject, "why": _why}
    with opened(options, output) as door:
        if file_approvals.is_meant(options):
            return file_approvals.decide(options, output, door)
        return actions[options.action](options, output, door)


def _list(options: argparse.Namespace, output: Output, door: Opened) -> int:
    found = door.capabilities.approvals.all(None if options.all else options.state)
    files = file_approvals.requests(door, state=None if options.all else options.state)
    if output.as_json:
        told = [*map(as_json, found), *file_approvals.listed_json(door, files)]
        output.json({"approvals": sorted(told, key=lambda one: one["requestedAt"] or 0.0)})
        return OK
    if not options.all and options.state == "pending":
        _say_what_expired(output, door, found)
    if not found and not files:
        output.out.write(_none(options))
        return OK
    rows = [(one.requested_at, _row(one)) for one in found]
    rows += [(one["requestedAt"] or 0.0, _file_row(one)) for one in file_approvals.listed_json(door, files)]
    rows.sort(key=lambda row: row[0])
    headings = ("REQUEST", "STATE", "SERVER", "TOOLS", "RISK", "SINCE", "FROM")
    print_table(output.out, headings, [row for _, row in rows])
    return OK


def _none(options: argparse.Namespace) -> str:
    if options.all:
        return "There has been no request yet."
    return "Nothing waits for you." if options.state == "pending" else f"No request is {options.state}."


def _row(one: Proposal) -> tuple[str, ...]:
    return one.id, one.state, one.server, _tools(one), one.risk.level, date(one.requested_at), asked_by(one)


def _file_row(one: Mapping[str, Any]) -> tuple[str, ...]:
    path, since = home_as_tilde(one["path"]), date(one["requestedAt"])
    risk = one["risk"]["level"] if one["servers"] or "content" in one else "?"
    return one["id"], one["state"], path, "?", risk, since, one["source"]


def _say_what_expired(output: Output, door: Opened, pending: Sequence[Proposal]) -> None:
    """What nobody decided in time waits on, though no request is about it until its server is read again."""
    about = {one.server for one in door.capabilities.approvals.all("expired") if one.subject == "tools"}
    for server in sorted(about - {one.server for one in pending}):
        offered = (*door.capabilities.view.tools(server).values(), *door.capabilities.view.items(server).values())
        if any(visible.availability.waits for visible in offered):
            again = f"`toolcrib discover {shell_word(server)}` makes a new one"
            output.note(f"{clean(server)}: what it changed still waits, but the request has expired; {again}")


def _why(options: argparse.Namespace, output: Output, door: Opened) -> int:
    return int(import_module("toolcrib.cli.why").run(options, output, door))


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
    if proposal.subject == "tools":
        return int(import_module("toolcrib.cli.change_decisions").approve(options, output, door, proposal))
    if chosen_changes(options):
        raise ValidationError(
            "--tool, --prompt, --resource, --template and --itself are for what changed in a server that is in use"
        )
    _check_versions(options, proposal)
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
    # After the decision: what was not approved must never be in the configuration, and what is there is pinned first.
    import_module("toolcrib.cli.change_decisions").pin_shown(proposal)
    edit_own_file(options, lambda own: _with_server(own, proposal))
    if not output.as_json:
        output.out.write()
        output.out.paragraph(f"{proposal.server} is approved; it is in {home_as_tilde(str(own.path))}")
    tools = len(proposal.definitions) or _read_now(options, proposal, door, output)
    if output.as_json:
        output.json({"success": True, **as_json(proposal), "toolCount": tools, "config": str(own.path)})
    return OK


def _check_versions(options: argparse.Namespace, proposal: Proposal) -> None:
    unpinned = unpinned_packages(proposal.launch)
    if unpinned and proposal.state != "approved" and not options.unpinned:
        raise ValidationError(
            f"{unpinned[0]} has no exact version: whoever publishes it can change later what runs here",
            hint="Have it proposed with a version, or approve it with --unpinned.",
        )


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
    if before.subject == "tools":
        return int(import_module("toolcrib.cli.change_decisions").reject(options, output, door, before))
    if not rejection_agreed(options, output, before):
        return OK
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
        reached = launch_keys(launch)
    entry = {"description": proposal.description, **reached}
    return {key: value for key, value in entry.items() if value}


def _tools(proposal: Proposal) -> str:
    if proposal.subject == "tools":
        return counted_changes(proposal)
    return str(len(proposal.definitions)) if proposal.was_read else "?"
