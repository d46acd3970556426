"""Room in a pipe: a large message passes in one go, a small one costs no large buffer."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

if sys.platform == "linux":
    import fcntl

ROOMY_BYTES = 1024 * 1024
# Below the size at which the allocator asks the system for memory each time, which costs ten times the read itself.
USUAL_BYTES = 64 * 1024


def make_roomy(transport: asyncio.BaseTransport | None) -> None:
    """Ask for a larger pipe; where that is refused, or it is no pipe, it stays as it is."""
    pipe = transport.get_extra_info("pipe") if transport is not None else None
    if pipe is not None:
        with suppress(ValueError):  # closed already
            make_pipe_roomy(pipe.fileno())
    size_reads(transport, 0)


def make_pipe_roomy(descriptor: int) -> None:
    """The same for the descriptor of a pipe."""
    if sys.platform == "linux":
        with suppress(OSError):  # refused, or no pipe
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, ROOMY_BYTES)


def size_reads(transport: asyncio.BaseTransport | None, last_bytes: int) -> None:
    """Read in larger pieces while pieces come in full, in usual ones otherwise."""
    if transport is not None and hasattr(transport, "max_size"):
        transport.max_size = ROOMY_BYTES if last_bytes >= USUAL_BYTES else USUAL_BYTES
