"""The gateway's side of the watchdog (POSIX); on Windows job objects do its work."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

log = logging.getLogger(__name__)

PROGRAM = Path(__file__).with_name("watchdog_process.py")
LAST_WORK_SECONDS = 3.0


class Watchdog:
    """Tells one watchdog process, started with the first child, which process groups must not outlive us.

    A watchdog that was killed is replaced at the next child. Without one the children still run and are still
    stopped by us; the loss is logged.
    """

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The watchdog's process, where one was started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """See to it that a watchdog runs; call it before a child is spawned. Does not wait until it is up."""
        if os.name != "posix" or self._is_closed or self._is_running():
            return
        self._let_go()
        try:
            self._process = _launch()
        except OSError as problem:
            log.warning("no watchdog: children may outlive a killed gateway: %s", problem)
            return
        for group in self._groups:
            self._tell(b"+", group)

    def watch(self, group: int) -> None:
        """From now on `group` ends with us."""
        self._groups.add(group)
        self._tell(b"+", group)

    def release(self, group: int) -> None:
        """`group` is gone, or no longer ours: it will not be touched."""
        if group in self._groups:
            self._groups.discard(group)
            self._tell(b"-", group)

    def close(self) -> None:
        """End the watchdog, which first ends every group that was not released; bounded in time."""
        self._is_closed = True
        if self._process is not None and not self._groups:
            self._process.kill()
        self._let_go()

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _tell(self, sign: bytes, group: int) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            os.write(self._process.stdin.fileno(), b"%b%d\n" % (sign, group))
        except OSError as problem:
            log.warning("the watchdog does not respond: %s", problem)

    def _let_go(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(LAST_WORK_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("the watchdog is still ending children")


def _launch() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd=os.sep,
        start_new_session=True,
    )
    if sys.platform != "win32" and process.stdin is not None:
        os.set_blocking(process.stdin.fileno(), False)
    return process
