"""`toolcrib trust`: allow configuration files of a working directory."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from toolcrib.approvals.file_queue import FileQueue
from toolcrib.cli.approval_text import date
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.file_text import held_by
from toolcrib.cli.opened_capabilities import audit_log, person
from toolcrib.cli.output import Output
from toolcrib.clients.machine import is_there
from toolcrib.config.file_requests import content_of, digest
from toolcrib.config.find import local_candidates
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths, working_folder
from toolcrib.config.project_files import project_candidates
from toolcrib.config.settings import Settings
from toolcrib.config.trust import TrustedFiles, trusted_name
from toolcrib.engine.met_files import opened_file_queue
from toolcrib.errors import ApprovalRefused, ConfigurationError
from toolcrib.model.clean_text import clean


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    if options.list:
        _list(TrustedFiles(Paths.of(os.environ).trusted_files), output)
        return OK
    files = [Path(options.file)] if options.file else _found(working_folder())
    if files and options.forget:
        with _queue(output) as queue:
            for file in files:
                words = "no longer trusted" if queue.forget(file, person()) else "was not trusted"
                output.out.paragraph(f"{words}: {clean(trusted_name(file))}")
        return OK
    missing = [file for file in files if not (is_there(file) and file.is_file())]
    if missing or not files:
        named = str(missing[0]) if missing else "no configuration file in this directory"
        output.err.paragraph(f"toolcrib trust: {named}: nothing to trust")
        return CONFIGURATION
    with _queue(output) as queue:
        for file in files:
            _trust(options, file, queue, output)
    return OK


def _list(trusted: TrustedFiles, output: Output) -> None:
    agreements = trusted.agreements()
    if not agreements:
        output.out.paragraph("Nothing is trusted: no file of a folder is used.")
    for path, agreement in agreements.items():
        who = f", by {clean(agreement.by)} on {date(agreement.at)}" if agreement.by else ""
        output.out.paragraph(f"{path}{who}{'' if trusted.is_trusted(path) else ' (changed since: not used)'}")


def _found(folder: Path) -> list[Path]:
    """Our own configuration of this folder, of which the first is used, and the files of AI clients."""
    return [*islice(local_candidates(folder), 1), *project_candidates(folder)]


def _trust(options: argparse.Namespace, file: Path, queue: FileQueue, output: Output) -> None:
    content = content_of(file) or b""
    shown = digest(content)
    output.out.paragraph(clean(str(file)), "", "bold")
    held_by(file, content).print(output.out)
    if not _agreed(options):
        output.note(f"{file} was not trusted")
        return
    if queue.trust(file, person(), expected=shown) != shown:
        raise ApprovalRefused(f"{file} was not trusted: it changed after it was shown", hint="Look at it again.")
    output.out.paragraph(f"trusted until it changes: {clean(trusted_name(file))}")


def _agreed(options: argparse.Namespace) -> bool:
    """A person at a terminal is asked once they have seen it; whoever runs the command elsewhere has said what to trust."""
    if options.yes or sys.stdin is None or not sys.stdin.isatty():
        return True
    return input("\nTrust exactly this? [y/N] ").strip().lower() in {"y", "yes"}


@contextmanager
def _queue(output: Output) -> Iterator[FileQueue]:
    try:
        settings = load_settings()
    except ConfigurationError:
        settings = Settings()  # whatever is wrong with the configuration, the decision is made
    with audit_log(settings, output) as tell:
        yield opened_file_queue(Paths.of(os.environ), tell)
