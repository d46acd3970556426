"""`toolcrib trust`: allow a configuration file of a working directory."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.config.find import local_candidates
from toolcrib.config.paths import Paths
from toolcrib.config.trust import TrustedFiles


def run(options: argparse.Namespace) -> int:
    file = Path(options.file) if options.file else next(local_candidates(Path.cwd()), None)
    if file is None or not file.is_file():
        missing = str(file) if file is not None else "no configuration file in this directory"
        print(f"toolcrib trust: {missing}: nothing to trust", file=sys.stderr)
        return CONFIGURATION
    trusted = TrustedFiles(Paths.of(os.environ).trusted_files)
    if options.forget:
        trusted.forget(file)
        print(f"no longer trusted: {file.resolve()}")
    else:
        trusted.trust(file)
        print(f"trusted until it changes: {file.resolve()}")
    return OK
