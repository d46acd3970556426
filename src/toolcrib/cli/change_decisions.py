"""`toolcrib approvals` for what changed in the definitions of servers in use; loaded when one is decided."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from toolcrib.approvals.proposal import Proposal
from toolcrib.cli.agreement import agreed, already, chosen_changes, rejection_agreed
from toolcrib.cli.approval_text import as_json, definition_name, print_proposal
from toolcrib.cli.exits import OK
from toolcrib.cli.opened_capabilities import Opened, person
from toolcrib.cli.output import Output
from toolcrib.cli.wording import counted
from toolcrib.engine.change_review import opened_change_review, opened_store, pin_definitions
from toolcrib.model.clean_name import clean_address, clean_name
from toolcrib.model.pin import PinKey
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool_naming import public_name


def approve(options: argparse.Namespace, output: Output, door: Opened, proposal: Proposal) -> int:
    named, agreed_to = chosen_changes(options), proposal.keys_agreed_to
    spec = door.capabilities.view.specs.get(proposal.server)
    meant = [key if spec is None else _offered_as(key, proposal, spec) for key in named]
    chosen = [key for key in meant if key not in agreed_to]
    if named and not chosen:
        return _already_used(output, proposal, [definition_name(key) for key in named])
    if not output.as_json:
        print_proposal(output.out, proposal)
    if not agreed(options):
        output.note("nothing was approved")
        return OK
    was_approved = proposal.state == "approved"
    with opened_change_review(door.capabilities.approvals) as review:
        if chosen:
            proposal = review.approve_some(proposal, chosen, person(), options.reason)
            return _say_some(output, proposal, [definition_name(key) for key in chosen])
        proposal = review.approve(proposal, person(), options.reason)
    return already(output, proposal) if was_approved else _say(output, proposal, "can be used as they are now")


def _offered_as(key: PinKey, proposal: Proposal, spec: ServerSpec) -> PinKey:
    """What the server calls what is meant: a person may also name it as it is called here."""
    kind, name = key
    known = {change.key for change in proposal.changes} | proposal.keys_agreed_to
    of_kind = [one for one in sorted(known) if one[0] == kind]
    return key if key in of_kind else next((one for one in of_kind if _name_here(one, spec) == name), key)


def _name_here(key: PinKey, spec: ServerSpec) -> str:
    kind, name = key
    if kind == "tool":
        return public_name(name, spec)
    return clean_name(name) if kind == "prompt" else clean_address(name)


def reject(options: argparse.Namespace, output: Output, door: Opened, proposal: Proposal) -> int:
    if not rejection_agreed(options, output, proposal):
        return OK
    with opened_change_review(door.capabilities.approvals) as review:
        proposal = review.reject(proposal, person(), options.reason)
    return _say(output, proposal, "stay out of use; nobody is asked about them again")


def pin_shown(proposal: Proposal) -> None:
    """Hold a server that was just approved to the tools that were shown, if they were known."""
    if proposal.definitions:
        with opened_store() as store:
            pin_definitions(store, proposal, person())


def _already_used(output: Output, proposal: Proposal, names: Sequence[str]) -> int:
    if output.as_json:
        output.json({"success": True, **as_json(proposal), "approved": list(names), "unchanged": True})
    else:
        output.out.paragraph(f"{proposal.server}: {', '.join(names)} was approved before; nothing was changed")
    return OK


def _say_some(output: Output, proposal: Proposal, names: Sequence[str]) -> int:
    if output.as_json:
        output.json({"success": True, **as_json(proposal), "approved": list(names)})
        return OK
    waiting = f"; {counted(len(proposal.changes), 'change')} left" if proposal.state == "pending" else ""
    output.out.write()
    output.out.paragraph(f"{proposal.server}: {', '.join(names)} can be used{waiting}")
    return OK


def _say(output: Output, proposal: Proposal, outcome: str) -> int:
    if output.as_json:
        output.json({"success": True, **as_json(proposal)})
    else:
        output.out.write()
        output.out.paragraph(f"{proposal.server}: its changed definitions {outcome}")
    return OK
