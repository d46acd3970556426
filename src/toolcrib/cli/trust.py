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
from toolcrib.model.clean_text import clean


def run(options: argparse.Namespace) -> int:
    file = Path(options.file) if options.file else next(local_candidates(Path.cwd()), None)
    trusted = TrustedFiles(Paths.of(os.environ).trusted_files)
    if file is not None and options.forget:
        was_trusted = trusted.forget(file)
        print(clean(f"{'no longer trusted' if was_trusted else 'was not trusted'}: {file.resolve()}"))
        return OK
    if file is None or not file.is_file():
        missing = str(file) if file is not None else "no configuration file in this directory"
        print(clean(f"toolcrib trust: {missing}: nothing to trust"), file=sys.stderr)
        return CONFIGURATION
    trusted.trust(file)
    print(clean(f"trusted until it changes: {file.resolve()}"))
    return OK
