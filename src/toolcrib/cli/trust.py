"""`toolcrib trust`: allow a configuration file of a working directory."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.output import Output
from toolcrib.clients.machine import is_there
from toolcrib.config.find import local_candidates
from toolcrib.config.paths import Paths, working_folder
from toolcrib.config.trust import TrustedFiles, trusted_name


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    file = Path(options.file) if options.file else next(local_candidates(working_folder()), None)
    trusted = TrustedFiles(Paths.of(os.environ).trusted_files)
    if file is not None and options.forget:
        was_trusted = trusted.forget(file)
        output.out.paragraph(f"{'no longer trusted' if was_trusted else 'was not trusted'}: {trusted_name(file)}")
        return OK
    if file is None or not (is_there(file) and file.is_file()):
        missing = str(file) if file is not None else "no configuration file in this directory"
        output.err.paragraph(f"toolcrib trust: {missing}: nothing to trust")
        return CONFIGURATION
    trusted.trust(file)
    output.out.paragraph(f"trusted until it changes: {trusted_name(file)}")
    return OK
