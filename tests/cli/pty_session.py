"""A command on a terminal, as far as it can tell."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping

from tests.cli.machine import BOUND_SECONDS, Ran


def run_on_terminal(*arguments: str, columns: int = 80, rows: int = 24, env: Mapping[str, str] | None = None) -> Ran:
    """Standard output and standard error are the same terminal, so `out` holds both."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    surroundings = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES", "NO_COLOR"}}
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**surroundings, "TERM": "xterm", **(env or {})},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = _read_all(ours)
        code = process.wait(BOUND_SECONDS)
    finally:
        process.kill()
        process.wait(BOUND_SECONDS)
        os.close(ours)
    return Ran(code, shown.decode("utf-8").replace("\r\n", "\n"), "")


def _read_all(terminal: int) -> bytes:
    deadline, parts = time.monotonic() + BOUND_SECONDS, []
    with contextlib.suppress(OSError):  # Linux ends a terminal nobody holds any more with an error.
        while select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = os.read(terminal, 65536)
            if not chunk:
                break
            parts.append(chunk)
    return b"".join(parts)
