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
from toolcrib.connector import words
from toolcrib.connector.hello import CONTROL, own_hello
from toolcrib.connector.link import EngineLink
from toolcrib.connector.place import EnginePlace, engine_place
from toolcrib.upstream.watchdog_process import read_process
from toolcrib.version import VERSION

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

    def tell_engine(self, word: str) -> str:
        """Say a word to the engine; how it ends, "0" where it does as it is told."""
        link = EngineLink.to(self.place)
        try:
            link.greet(own_hello(CONTROL, VERSION, [word]))
            return next(text for said, text in link.heard(BOUND_SECONDS) if said == words.END)
        finally:
            link.close()

    def end_engines(self) -> None:
        """Ask every engine to end, as the system does when it shuts down."""
        while pids := self.engines():
            for pid in pids:
                os.kill(pid, signal.SIGTERM)
            # It gives up its place first, and then all that it has open.
            wait_until(lambda pids=pids: not any(map(read_process, pids)))

    def processes(self, **variables: str) -> set[int]:
        """Those that carry the tag and these variables; without any, the engines too, which do not carry it."""
        engines = set() if variables else {pid for pid in _running() if self._is_engine(pid)}
        return super().processes(**variables) | engines

    def _is_engine(self, pid: int) -> bool:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return b"toolcrib.connector.engine_main" in command and str(self.home / "engine").encode() in command

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


def _running() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _holder(lock: Path) -> int | None:
    """The living process that holds a lock file; None where nobody does."""
    with lock.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = int(opened.read() or 0)
            return pid if read_process(pid) is not None else None
    return None
