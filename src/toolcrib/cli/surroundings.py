"""What a command finds around it: its own process, or the engine that runs it for a client."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from toolcrib.catalog.store import GatewayRow
    from toolcrib.config.settings import Settings
    from toolcrib.gateway import Gateway
    from toolcrib.workspace.workspace import Workspace

T = TypeVar("T")


class Surroundings(Protocol):
    """Where a command's variables and streams come from, and who has the gateway it needs."""

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def folder(self) -> Path | None:
        """The working directory; None is that of this process."""

    @property
    def stdin(self) -> IO[str] | None: ...

    @property
    def stdout(self) -> IO[str]: ...

    @property
    def stderr(self) -> IO[str]: ...

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do asynchronous work to its end."""

    def gateway(self, settings: Settings) -> AbstractAsyncContextManager[Gateway]:
        """The gateway to this configuration, for as long as the block lasts."""

    def opened(self) -> tuple[Workspace, list[GatewayRow]] | None:
        """The workspace and the running gateways, where somebody has them at hand."""


class OwnProcess:
    """A command that does everything itself."""

    folder: Path | None = None

    @property
    def env(self) -> Mapping[str, str]:
        return os.environ

    @property
    def stdin(self) -> IO[str] | None:
        return sys.stdin

    @property
    def stdout(self) -> IO[str]:
        return sys.stdout

    @property
    def stderr(self) -> IO[str]:
        return sys.stderr

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        # Only here: a command that looks into the catalog is answered before it would be loaded.
        result: T = import_module("asyncio").run(work)
        return result

    @asynccontextmanager
    async def gateway(self, settings: Settings) -> AsyncIterator[Gateway]:
        # Only here: most commands look into the catalog, and need nothing that reaches servers.
        open_gateway = import_module("toolcrib.engine.open_gateway").open_gateway
        # Warnings about the configuration were shown already.
        said = replace(settings, problems=(), warnings=())
        async with open_gateway(settings=said, face="cli", read_due=False) as gateway:
            yield gateway

    def opened(self) -> None:
        return None


_OWN = OwnProcess()


def around(options: argparse.Namespace) -> Surroundings:
    """What is around the command with these options."""
    found: Surroundings = getattr(options, "around", _OWN)
    return found
