"""The reading commands' door: configuration and catalog, and first those servers nobody has read yet."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from toolcrib.calls.missing import missing
from toolcrib.catalog.store import GatewayRow, ServerRecord
from toolcrib.cli.chosen import disabled
from toolcrib.cli.output import Output
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.offline import open_reading
from toolcrib.engine.running import running_gateways
from toolcrib.errors import CallTimeout
from toolcrib.model.status import CONNECTED, DISCONNECTED, ServerStatus
from toolcrib.workspace.catalog_view import CatalogView


@dataclass(frozen=True, slots=True)
class CatalogSession:
    """What a reading command looks at."""

    settings: Settings
    view: CatalogView
    gateways: list[GatewayRow]

    def status(self, server: str) -> ServerStatus:
        """How the running gateways stand with a server."""
        return CONNECTED if self.holders(server) else DISCONNECTED

    def holders(self, server: str) -> list[GatewayRow]:
        """The gateways that are connected to a server now."""
        return [row for row in self.gateways if row.statuses.get(server) == "connected"]

    def keep_index(self) -> None:
        """Write the search index down if some of it had to be made, so that the next command need not."""
        write = self.view.search_index.to_write()
        if write is not None:
            write()

    def left_out(self) -> list[ServerRecord]:
        """What is known of servers whose tools nobody knows, because reading them failed."""
        broken = (self.view.broken(name) for name in self.view.specs)
        return [record for record in broken if record is not None and record.read_at is None]

    def need_server(self, server: str) -> None:
        """Raise the error for a server nobody configured, or that is switched off."""
        if self.view.knows(server):
            return
        raise disabled(self.settings, server) or missing(self.view, server, "")


def settings_of(options: argparse.Namespace, output: Output) -> Settings:
    """The configuration this command is about; what is odd about it is said beside the answer."""
    settings = load_settings(Path(options.config) if options.config else None)
    for problem in settings.problems:
        output.note(f"left out: {problem}")
    for warning in settings.warnings:
        output.note(f"note: {warning}")
    return settings


@contextmanager
def open_for_reading(
    options: argparse.Namespace, output: Output, *, server: str | None = None
) -> Iterator[CatalogSession]:
    """The catalog, after servers never tried were read for at most `--wait` seconds; only `server` where one is meant."""
    settings = settings_of(options, output)
    offline = open_reading(settings, Paths.of(os.environ))
    try:
        unread = [name for name in offline.view.specs if _is_read_first(offline.view, name, server)]
        if unread and options.wait > 0:
            # Only here: starting servers needs the whole protocol stack.
            first = import_module("toolcrib.cli.read_first")
            first.read_first(settings, unread, options.wait, output)
            offline.view.invalidate()
        yield CatalogSession(settings, offline.view, running_gateways(offline.store, time.time()))
    finally:
        offline.store.close()


def _is_read_first(view: CatalogView, name: str, only: str | None) -> bool:
    """Whether a command reads a server before it answers.

    One that could not be read is waited for when it is named. Otherwise it is tried again after a while, and one that
    hung not at all: people should not wait for it time and again.
    """
    if only not in {None, name} or (view.was_read(name) and not view.is_launched_differently(name)):
        return False
    broken = view.broken(name)
    if broken is None or only == name:
        return True
    return broken.error_code != CallTimeout.code and not view.seconds_to_retry(name)
