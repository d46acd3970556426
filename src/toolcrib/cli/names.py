"""The server and the tool that a command line names."""

from __future__ import annotations

import argparse

from toolcrib.errors import ValidationError
from toolcrib.model.tool import split_id


def server_and_tool(options: argparse.Namespace) -> tuple[str, str]:
    """`SERVER TOOL`, or both in one word as `SERVER:TOOL`."""
    server, tool = split_id(options.server, options.tool) if options.tool else split_id("", options.server)
    if not server or not tool:
        raise ValidationError("name a server and a tool: SERVER TOOL, or SERVER:TOOL")
    return server, tool
