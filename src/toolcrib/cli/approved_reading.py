"""A server that was just approved is read at once, so that its tools can be found and looked at; needs the whole gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from toolcrib.cli.output import Output
from toolcrib.cli.progress import Progress
from toolcrib.config.settings import Settings
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.errors import ToolcribError
from toolcrib.gateway import Gateway


def read_approved(settings: Settings, server: str, output: Output) -> list[Mapping[str, Any]]:
    """The definitions of its tools; none where it could not be read, and then the reason is shown."""
    return asyncio.run(_read(settings, server, output))


async def _read(settings: Settings, server: str, output: Output) -> list[Mapping[str, Any]]:
    # Warnings about the configuration were shown already; a server that fails is not tried again and again here.
    said = replace(settings, problems=(), warnings=(), max_retries=0)
    with Progress(output.err, "Reading its tools", [server], is_quiet=output.is_quiet) as progress:
        progress.started(server)
        async with open_gateway(settings=said, face="cli", read_due=False) as gateway:
            try:
                await gateway.read_server(server)
            except ToolcribError as error:
                progress.failed(server, error.message)
                return []
            definitions = await _definitions(gateway, server)
        progress.done(server, f"{len(definitions)} tools")
    return definitions


async def _definitions(gateway: Gateway, server: str) -> list[Mapping[str, Any]]:
    listed = await gateway.list_tools(server, include_disabled=True)
    definitions: list[Mapping[str, Any]] = []
    for tool in listed:
        with suppress(ToolcribError):  # what looks hostile waits for a person
            details = await gateway.get_tool_details(server, tool.name)
            definitions += [] if details is None else [details.definition]
    return definitions
