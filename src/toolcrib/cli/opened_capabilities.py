"""The door of the commands for approvals and capabilities."""

from __future__ import annotations

import argparse
import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from toolcrib.app.capabilities import Capabilities, audited, open_capabilities
from toolcrib.app.offline import open_reading
from toolcrib.cli.output import Output
from toolcrib.cli.reading import settings_of
from toolcrib.config.paths import Paths
from toolcrib.model.server import ServerSpec
from toolcrib.storage.audit_file import AuditFile


@dataclass(frozen=True, slots=True)
class Opened:
    """What these commands work on; `configured` are all servers of the configuration."""

    capabilities: Capabilities
    configured: dict[str, ServerSpec]


@contextmanager
def opened(options: argparse.Namespace, output: Output) -> Iterator[Opened]:
    """Configuration, catalogue and proposals; no server is started."""
    settings, paths = settings_of(options, output), Paths.of(os.environ)
    configured = {spec.name: spec for spec in settings.servers}
    audit = AuditFile(
        paths.audit_log, max_bytes=settings.audit_max_bytes, files=settings.audit_files, on_trouble=output.note
    )
    offline = open_reading(settings, paths)
    try:
        capabilities = open_capabilities(offline, paths, configured=lambda: configured, tell=audited(audit, "cli"))
        try:
            yield Opened(capabilities, configured)
        finally:
            capabilities.close()
    finally:
        offline.store.close()


def person() -> str:
    """Whose decision this is."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
