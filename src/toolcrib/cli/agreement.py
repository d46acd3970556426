"""Asking a person before something is approved, and saying that it was before."""

from __future__ import annotations

import argparse
import sys

from toolcrib.approvals.proposal import Proposal
from toolcrib.cli.approval_text import as_json, print_in_short
from toolcrib.cli.exits import OK
from toolcrib.cli.output import Output
from toolcrib.errors import ValidationError
from toolcrib.model.items import ITEM_KINDS, ItemKind
from toolcrib.model.pin import PinKey

_NAMED: tuple[ItemKind, ...] = ("tool", *ITEM_KINDS)


def already(output: Output, proposal: Proposal) -> int:
    if output.as_json:
        output.json({"success": True, **as_json(proposal), "unchanged": True})
    else:
        output.out.paragraph(f"{proposal.server} is already {proposal.state}; nothing was changed")
    return OK


def agreed(options: argparse.Namespace) -> bool:
    if options.yes:
        return True
    if options.json or sys.stdin is None or not sys.stdin.isatty():
        raise ValidationError("nothing was approved: look at it with `toolcrib approvals show`, then add --yes")
    return input("\nApprove exactly this? [y/N] ").strip().lower() in {"y", "yes"}


def rejection_agreed(options: argparse.Namespace, output: Output, proposal: Proposal) -> bool:
    """What is rejected is shown in short, and a person at a terminal is asked.

    Nobody else is: rejecting keeps something out of use, and scripts that do so need no further word.
    """
    if not options.json and not proposal.may_become("rejected"):
        return True  # which is refused with its reason
    if not options.json:
        print_in_short(output.out, proposal)
    return asked_to_reject(options, output)


def asked_to_reject(options: argparse.Namespace, output: Output) -> bool:
    if options.yes or options.json or sys.stdin is None or not sys.stdin.isatty():
        return True
    is_sure = input("\nReject this? [y/N] ").strip().lower() in {"y", "yes"}
    if not is_sure:
        output.note("nothing was rejected")
    return is_sure


def chosen_changes(options: argparse.Namespace) -> list[PinKey]:
    """Which of a server's changes a person names, each under its own kind; none where all of them are meant."""
    named: list[PinKey] = [(kind, name) for kind in _NAMED for name in getattr(options, kind)]
    return [*named, ("server", "")] if options.itself else named
