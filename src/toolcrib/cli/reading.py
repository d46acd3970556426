"""The reading commands' door: configuration and catalogue, and first those servers nobody has read yet."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from toolcrib.app.offline import Offline, open_reading
from toolcrib.app.running import running_gateways
from toolcrib.calls.missing import missing
from toolcrib.catalog.store import GatewayRow
from toolcrib.cli.chosen import disabled
from toolcrib.cli.output import Output
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.model.status import CONNECTED, DISCONNECTED, ServerStatus
from toolcrib.stock import Stock

# A server that could not be read is not waited for again at every command; asked for by name it is.
RETRY_AFTER_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reading command looks at."""

    settings: Settings
    stock: Stock
    gateways: list[GatewayRow]

    def status(self, server: str) -> ServerStatus:
        """How the running gateways stand with a server."""
        return CONNECTED if self.holders(server) else DISCONNECTED

    def holders(self, server: str) -> list[GatewayRow]:
        """The gateways that are connected to a server now."""
        return [row for row in self.gateways if row.statuses.get(server) == "connected"]

    def keep_index(self) -> None:
        """Write the search index down if some of it had to be made, so that the next command need not."""
        write = self.stock.finder.to_write()
        if write is not None:
            write()

    def need_server(self, server: str) -> None:
        """Raise the error for a server nobody configured, or that is switched off."""
        if self.stock.knows(server):
            return
        raise disabled(self.settings, server) or missing(self.stock, server, "")


def settings_of(options: argparse.Namespace, output: Output) -> Settings:
    """The configuration this command is about; what is odd about it is said beside the answer."""
    settings = load_settings(Path(options.config) if options.config else None)
    for problem in settings.problems:
        output.note(f"left out: {problem}")
    for warning in settings.warnings:
        output.note(f"note: {warning}")
    return settings


@contextmanager
def open_for_reading(options: argparse.Namespace, output: Output, *, server: str | None = None) -> Iterator[Reading]:
    """The catalogue, after servers never read were read for at most `--wait` seconds; only `server` where one is meant."""
    settings = settings_of(options, output)
    offline = open_reading(settings, Paths.of(os.environ))
    try:
        unread = list(_unread(offline, server))
        if unread and options.wait > 0:
            # Only here: starting servers needs the whole protocol stack.
            first = import_module("toolcrib.cli.first_reading")
            first.read_first(settings, unread, options.wait, output)
            offline.stock.invalidate()
        yield Reading(settings, offline.stock, running_gateways(offline.store, time.time()))
    finally:
        offline.store.close()


def _unread(offline: Offline, only: str | None) -> Iterable[str]:
    records, now = offline.stock.records(), time.time()
    for name, spec in offline.stock.specs.items():
        record = records.get(name)
        if only not in {None, name}:
            continue
        if (
            record is None
            or record.launch_fingerprint != spec.launch_fingerprint()
            or (record.read_at is None and (only or now - (record.error_at or 0) > RETRY_AFTER_SECONDS))
        ):
            yield name
