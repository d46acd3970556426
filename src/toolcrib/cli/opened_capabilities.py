"""The door of the commands for approvals and capabilities."""

from __future__ import annotations

import argparse
import getpass
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from toolcrib.approvals.events import Tell
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.audited import audited
from toolcrib.engine.capabilities import Capabilities, read_capabilities
from toolcrib.model.server import ServerSpec
from toolcrib.storage.audit_file import AuditFile


@dataclass(frozen=True, slots=True)
class Opened:
    """What these commands work on; `configured` are all servers of the configuration, those switched off too."""

    capabilities: Capabilities
    settings: Settings
    tell: Tell

    @property
    def configured(self) -> dict[str, ServerSpec]:
        return {spec.name: spec for spec in self.settings.servers}


@contextmanager
def opened(options: argparse.Namespace, output: Output) -> Iterator[Opened]:
    """Configuration, catalog and proposals; no server is started."""
    settings = settings_of(options, output)
    with audit_log(settings, output) as tell, read_capabilities(settings, tell=tell) as capabilities:
        yield Opened(capabilities, settings, tell)


@contextmanager
def audit_log(settings: Settings, output: Output) -> Iterator[Tell]:
    """What writes down that a person decided something."""
    audit = AuditFile(
        Paths.of(os.environ).audit_log,
        max_bytes=settings.audit_max_bytes,
        files=settings.audit_files,
        on_trouble=output.note,
    )
    with closing(audit):
        yield audited(audit, "cli")


def person() -> str:
    """Whose decision this is."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
