"""Which process is there for peers, and where they reach it: written down for commands, which are other processes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from toolcrib.config.paths import Paths
from toolcrib.engine.gateway_rows import running_gateways
from toolcrib.engine.open_catalog import open_store
from toolcrib.files.one_step import write_in_one_step


class PeerPresence(msgspec.Struct, frozen=True):
    """The process that is there for peers now; it has no addresses where it only looks for others."""

    pid: int
    addresses: tuple[str, ...] = ()


def write_presence(path: Path, addresses: Sequence[str]) -> None:
    """Say that this process is there; in one step, so that nobody reads half of it."""
    write_in_one_step(path, msgspec.json.encode(PeerPresence(os.getpid(), tuple(addresses))))


def forget_presence(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def read_presence(paths: Paths) -> PeerPresence | None:
    """Who is there for peers now; None where nobody is, also where somebody was and did not come to say goodbye."""
    try:
        told = msgspec.json.decode(paths.peer_presence.read_bytes(), type=PeerPresence)
    except (OSError, msgspec.DecodeError):
        return None
    with closing(open_store(paths)) as store:
        is_running = any(row.pid == told.pid for row in running_gateways(store, time.time()))
    return told if is_running else None
