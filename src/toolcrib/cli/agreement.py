"""Asking a person before something is approved, and saying that it was before."""

from __future__ import annotations

import argparse
import sys

from toolcrib.approvals.proposal import Proposal
from toolcrib.cli.approval_text import as_json
from toolcrib.cli.exits import OK
from toolcrib.cli.output import Output
from toolcrib.errors import ValidationError


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
