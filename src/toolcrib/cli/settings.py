"""`toolcrib settings`: everything that can be set."""

from __future__ import annotations

import argparse

from toolcrib.cli.exits import OK
from toolcrib.config.reference import settings_text


def run(_: argparse.Namespace) -> int:
    print(settings_text())
    return OK
