"""The gateways that run now, as the catalog records them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from toolcrib.catalog.store import CatalogStore, GatewayRow
from toolcrib.errors import StoreUnavailable

# A gateway renews its row every ten seconds; a much older one was left behind.
LOST_SECONDS = 60.0
# A row may be a moment older than what the system knows of the start of its process.
CLOCK_SLACK_SECONDS = 2.0
# Only `toolcrib serve` and the shared engine take the signal for a request to reload; it would end any other process.
RELOADING_FACES = frozenset({"stdio", "http", "engine"})


def running_gateways(store: CatalogStore, now: float) -> list[GatewayRow]:
    """The gateways whose process is alive and is the one that wrote its row; oldest first."""
    try:
        return [row for row in store.gateways() if _is_running(row, now)]
    except StoreUnavailable:
        return []


def ask_to_reload(rows: Iterable[GatewayRow], now: float) -> list[GatewayRow]:
    """Have those gateways read their configuration again; returns the ones that were asked.

    One that has only just started is left out: it has read the configuration this moment.
    """
    if sys.platform == "win32":
        return []
    asked = []
    for row in rows:
        if row.face in RELOADING_FACES and now - row.started_at > CLOCK_SLACK_SECONDS:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(row.pid, signal.SIGHUP)
                asked.append(row)
    return asked


def _is_running(row: GatewayRow, now: float) -> bool:
    """Whether a row is fresh and its process the one that wrote it."""
    if now - row.seen_at > LOST_SECONDS or row.pid <= 1 or is_gone(row, now):
        return False
    started_at = _started_at(row.pid)
    return started_at is None or started_at <= row.started_at + CLOCK_SLACK_SECONDS


def is_gone(row: GatewayRow, now: float) -> bool:
    """Whether the process of a row has ended for certain; without a way to ask, an old row counts as gone."""
    if sys.platform == "win32":
        return now - row.seen_at > LOST_SECONDS
    try:
        os.kill(row.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _has_ended(row.pid)


def _has_ended(pid: int) -> bool:
    """Whether a process has ended, and only whoever started it has not noticed yet; for as long, its number stays taken."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] in {"Z", "X"}
    except (OSError, IndexError):
        return False


def _started_at(pid: int) -> float | None:
    """When a process began, where the system tells: a number used again belongs to another, younger process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        boot = Path("/proc/stat").read_text("utf-8").partition("btime ")[2].split()[0]
        return int(boot) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return None
