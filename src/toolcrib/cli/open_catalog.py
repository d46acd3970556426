"""The reading commands' door: configuration and catalog, and first those servers nobody has read yet."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.freshness import Freshness
from toolcrib.catalog.store import GatewayRow, ServerRecord
from toolcrib.cli.chosen import disabled
from toolcrib.cli.output import Output
from toolcrib.cli.surroundings import around
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.gateway_rows import running_gateways
from toolcrib.engine.open_catalog import open_reading
from toolcrib.errors import CallTimeout
from toolcrib.model.server import ServerSpec
from toolcrib.model.status import CONNECTED, DISCONNECTED, ServerStatus
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import missing
from toolcrib.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class CatalogSession:
    """What a reading command looks at."""

    workspace: Workspace
    gateways: list[GatewayRow]
    # Whether somebody else brings its index up to date.
    is_kept: bool = False

    @property
    def settings(self) -> Settings:
        return self.workspace.settings

    @property
    def view(self) -> CatalogView:
        return self.workspace.view

    def status(self, server: str) -> ServerStatus:
        """What the running gateways say about a server."""
        return CONNECTED if self.holders(server) else DISCONNECTED

    def holders(self, server: str) -> list[GatewayRow]:
        """The gateways that are connected to a server now."""
        key = self._launch_key(server)
        return [row for row in self.gateways if row.statuses.get(key) == "connected"]

    def users(self, server: str) -> dict[str, int]:
        """The clients that use a server now, through any gateway: names with the number of their sessions."""
        key = self._launch_key(server)
        counted: Counter[str] = Counter()
        for row in self.holders(server):
            counted.update(row.users.get(key, {}))
        return dict(sorted(counted.items()))

    def _launch_key(self, server: str) -> str:
        spec = self.view.specs.get(server)
        return "" if spec is None else spec.launch_key

    def make_searchable(self) -> None:
        """Bring the index up to date, and write it down if some of it had to be made: the next command need not."""
        if self.is_kept:
            return
        search = self.workspace.search
        while search.index_next():
            pass
        search.index.recall()
        write = search.index.to_write()
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
    """The configuration this command is about; warnings about it go to standard error."""
    here = around(options)
    settings = load_settings(Path(options.config) if options.config else None, env=here.env, cwd=here.folder)
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
    if (opened := around(options).opened()) is not None:
        yield CatalogSession(*opened, is_kept=True)
        return
    with closing(open_reading(settings, Paths.of(os.environ))) as looking:
        view = looking.view
        unread = unread_servers(view, settings, server)
        if unread and options.wait > 0:
            # Only here: starting servers needs the whole protocol stack.
            first = import_module("toolcrib.cli.read_first")
            first.read_first(around(options), settings, unread, options.wait, output)
            looking.look_again()
        yield CatalogSession(looking.workspace, running_gateways(looking.store, time.time()))


def unread_servers(view: CatalogView, settings: Settings, only: str | None) -> list[str]:
    """The servers that a command reads before it answers; `only` is the one that it asks about."""
    return [name for name, spec in view.specs.items() if _is_read_first(view.catalog, spec, only, settings)]


def _is_read_first(catalog: Catalog, spec: ServerSpec, only: str | None, settings: Settings) -> bool:
    """Whether a command reads a server before it answers.

    One that could not be read is waited for when it is named. Otherwise it is tried again after a while, and one that
    hung not at all: people should not wait for it time and again.
    """
    if only not in {None, spec.name} or (catalog.was_read(spec) and not catalog.is_launched_differently(spec)):
        return False
    broken = catalog.broken(spec)
    if broken is None or only == spec.name:
        return True
    waits = Freshness(longest_retry_seconds=settings.broken_retry_max_delay_seconds)
    return broken.error_code != CallTimeout.code and not waits.seconds_to_retry(broken, time.time())
