"""`toolcrib disable`: a server stays in our own file, and nothing of it is offered."""

from __future__ import annotations

import argparse

from toolcrib.cli.enable import switch
from toolcrib.cli.moving import perform


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: switch(options, enabled=False))
