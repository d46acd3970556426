"""Clients of one machine that share an engine, each a process that an AI client would start."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.journeys.stdio_gateway import BOUND_SECONDS, Workshop
from toolcrib.connector.place import EnginePlace, engine_place
from toolcrib.upstream.watchdog_process import read_process

SWITCH = "TOOLCRIB_ENGINE_ENABLED"


class SharedWorkshop(Workshop):
    """A home, a configuration, and the engine behind the gateways started with them."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(folder, {name: value for name, value in environment.items() if name != SWITCH})
        self.config = self.home / "toolcrib.json"
        self.log = self.home / "engine.log"

    @property
    def place(self) -> EnginePlace:
        return engine_place(self.environment)

    def engines(self) -> list[int]:
        """The processes that hold a place of an engine in this home."""
        return [pid for lock in sorted((self.home / "engine").glob("*.lock")) if (pid := _holder(lock)) is not None]

    def engine(self) -> int:
        """The one engine that runs."""
        (pid,) = self.engines()
        return pid

    def end_engines(self) -> None:
        """Ask every engine to end, as the system does when it shuts down, and wait until it is gone."""
        engines = self.engines()
        for pid in engines:
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not self.engines() and not any(map(read_process, engines)))

    def left_behind(self) -> list[str]:
        with suppress(AssertionError):
            wait_until(lambda: not self.processes())
        sockets = [str(file) for file in (self.home / "engine").glob("*.sock")]
        return [*sockets, *(f"process {pid}" for pid in self.processes())]

    def kill_all(self) -> None:
        for pid in (*self.engines(), *self.processes()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def wait_until(is_so: Callable[[], bool], seconds: float = BOUND_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"still not so after {seconds} s"
        time.sleep(0.02)


def _holder(lock: Path) -> int | None:
    """The living process that holds a lock file; None where nobody does."""
    with lock.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = int(opened.read() or 0)
            return pid if read_process(pid) is not None else None
    return None
