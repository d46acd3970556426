"""`toolcrib settings`: everything that can be set."""

from __future__ import annotations

import argparse

from toolcrib.cli.exits import OK
from toolcrib.cli.output import Output
from toolcrib.config.reference import settings_text


def run(options: argparse.Namespace) -> int:
    Output.of(options).out.paragraph(settings_text())
    return OK
