"""`toolcrib logs`: what a server last wrote to its standard error, and what it writes while we watch."""

from __future__ import annotations

import argparse
import os
from itertools import chain

from toolcrib.cli.exits import OK
from toolcrib.cli.following import follow
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.cli.server_log import FollowedLog, last_lines
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import ServerNotFound
from toolcrib.search.suggest import nearest


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    settings = settings_of(options, output)
    transport = _transport(settings, options.server)
    file = Paths.of(os.environ).logs_dir / f"{options.server}.log"
    if options.follow and transport == "stdio":
        _follow(output, options.server, FollowedLog(file), options.lines)
        return OK
    lines = last_lines(file, options.lines)
    if output.as_json:
        output.json({"server": options.server, "lines": lines})
        return OK
    if not lines:
        reason = "has written nothing yet" if transport == "stdio" else "is remote: it has no standard error here"
        output.note(f"{options.server} {reason}")
    for line in lines:
        output.out.write(line)
    return OK


def _follow(output: Output, server: str, log: FollowedLog, count: int) -> None:
    """The last lines, then each new one; ends only when the person or the reader of our output has seen enough."""
    recent = log.look()[-count:]
    for line in chain(recent, follow(log.look, output.out.stream)):
        if output.as_json:
            output.json_line({"server": server, "line": line})
        else:
            output.out.write(line)


def _transport(settings: Settings, server: str) -> str:
    """How the server is reached; the name must be a configured one, so it can't lead out of the folder of logs."""
    for spec in settings.servers:
        if spec.name == server:
            return spec.launch.transport
    raise ServerNotFound(
        f"no server is called {server!r}", nearest=nearest(server, [spec.name for spec in settings.servers])
    )
