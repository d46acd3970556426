"""`toolcrib logs`: what a server last wrote to its standard error."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import ServerNotFound, ToolcribError
from toolcrib.masking.texts import mask_text
from toolcrib.model.clean_text import clean_output
from toolcrib.search.suggest import nearest

# The ring of a server never grows beyond this.
MOST_BYTES = 256 * 1024


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    settings = settings_of(options, output)
    transport = _transport(settings, options.server)
    lines = _last_lines(Paths.of(os.environ).logs_dir / f"{options.server}.log", options.lines)
    if output.as_json:
        output.json({"server": options.server, "lines": lines})
        return OK
    if not lines:
        reason = "has written nothing yet" if transport == "stdio" else "is remote: it has no standard error here"
        output.note(f"{options.server} {reason}")
    for line in lines:
        output.out.write(line)
    return OK


def _transport(settings: Settings, server: str) -> str:
    """How the server is reached; the name must be a configured one, so it can't lead out of the folder of logs."""
    for spec in settings.servers:
        if spec.name == server:
            return spec.launch.transport
    raise ServerNotFound(
        f"no server is called {server!r}", nearest=nearest(server, [spec.name for spec in settings.servers])
    )


def _last_lines(file: Path, count: int) -> list[str]:
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - MOST_BYTES))
            text = clean_output(opened.read(MOST_BYTES))
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise ToolcribError(f"{file} can't be read: {problem.strerror}") from problem
    # Masked once more: the codes that were taken out may have stood within a secret, and older files were not masked.
    lines = [line.rstrip() for line in mask_text(text).split("\n")]
    return [line for line in lines if line][-count:]
