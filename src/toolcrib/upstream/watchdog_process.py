"""The watchdog: a tiny program that ends a gateway's children when the gateway is gone, even by SIGKILL.

It runs as `python -I -S watchdog_process.py` and stays small by importing only built-in modules, so `Family`, which the
gateway uses as well to end one child, lives here. Its standard input is a pipe from the gateway carrying `+<group>` and
`-<group>` lines; only groups named there, and processes found to descend from them, are ever signalled.

A process that called setsid is found while its parent still runs (Linux only); one that was also orphaned by then, as
daemons and a browser opened for a login are, is left alone.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

assert sys.platform != "win32"

GRACE_SECONDS = 1.0
POLL_SECONDS = 0.02


class Process:
    """What the kernel tells of one process; `started` tells it from a later one with the same number."""

    __slots__ = ("group", "parent", "session", "started")

    def __init__(self, parent: int, group: int, session: int, started: int) -> None:
        self.parent = parent
        self.group = group
        self.session = session
        self.started = started


def read_process(pid: int) -> Process | None:
    """The process, or None where it is gone or a zombie, or the system has no Linux-like /proc."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read(2048).rpartition(b")")[2].split()
        if fields[0] in b"ZX":
            return None
        return Process(int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def read_processes() -> dict[int, Process]:
    """Every living process by its number; empty where the system has no Linux-like /proc."""
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 (no pathlib here)
    except OSError:
        return {}
    return {pid: process for pid in pids if (process := read_process(pid)) is not None}


class Family:
    """The process group that `leader` founded as a new session, and what its members started outside of it."""

    def __init__(self, leader: int) -> None:
        if leader <= 1:
            raise ValueError(f"{leader} is not one of our process groups")
        self._group = leader
        self._is_group_gone = False
        self._strays: dict[int, int] = {}

    def look(self, processes: dict[int, Process] | None = None) -> None:
        """Remember the members outside the group; call it while their parents still live."""
        if self._is_group_gone:
            return
        found = read_processes() if processes is None else processes
        members = {pid for pid, process in found.items() if self._group in (process.group, process.session)}
        newest = members
        while newest:
            newest = {pid for pid, process in found.items() if process.parent in newest} - members
            members = members | newest
        self._strays.update({pid: found[pid].started for pid in members if found[pid].group != self._group})

    def is_alive(self, processes: dict[int, Process] | None = None) -> bool:
        """Whether any member still runs; zombies do not count."""
        if self._is_group_alive(processes):
            return True
        self._strays = {pid: started for pid, started in self._strays.items() if _is_same(pid, started)}
        return bool(self._strays)

    def ask_to_end(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self.look()
        self._signal(signal.SIGKILL)

    def _is_group_alive(self, processes: dict[int, Process] | None) -> bool:
        # Once empty, the number may come to name the group of another program: it is never signalled again.
        if self._is_group_gone or not self._signal_group(0):
            return False
        found = read_processes() if processes is None else processes
        return not found or any(process.group == self._group for process in found.values())

    def _signal(self, number: int) -> None:
        self._signal_group(number)
        for pid, started in self._strays.items():
            if _is_same(pid, started):
                _quietly_kill(pid, number)

    def _signal_group(self, number: int) -> bool:
        """Whether there was a group to signal."""
        if self._is_group_gone:
            return False
        try:
            os.killpg(self._group, number)
        except ProcessLookupError:
            self._is_group_gone = True
        except PermissionError:
            return False  # only zombies (macOS), or members that became another user: out of our hands
        return not self._is_group_gone


def _is_same(pid: int, started: int) -> bool:
    process = read_process(pid)
    return process is not None and process.started == started


def _quietly_kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def groups_left_behind(pipe: int, gateway: int | None) -> set[int]:
    """Follow the lines on `pipe` until the gateway is gone; the groups that were added and not removed."""
    groups: set[int] = set()
    rest = b""
    sources = [pipe] if gateway is None else [pipe, gateway]
    while True:
        ready = select.select(sources, [], [])[0]
        text = os.read(pipe, 65536) if pipe in ready else b""
        if not text:
            return groups
        *lines, rest = (rest + text).split(b"\n")
        for line in lines:
            _note(line, groups)


def _note(line: bytes, groups: set[int]) -> None:
    if not line[1:].isdigit():
        return
    if line[:1] == b"+":
        groups.add(int(line[1:]))
    elif line[:1] == b"-":
        groups.discard(int(line[1:]))


def end(families: list[Family]) -> None:
    """Ask every family to end, and kill what is left after the grace."""
    processes = read_processes()
    for family in families:
        family.look(processes)
        family.ask_to_end()
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        processes = read_processes()
        if not any(family.is_alive(processes) for family in families):
            return
        time.sleep(POLL_SECONDS)
    for family in families:
        family.kill()


def _handle_of(pid: int) -> int | None:
    """A descriptor that turns readable when `pid` ends: seen even if someone else holds a copy of our pipe."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end([Family(group) for group in groups_left_behind(0, _handle_of(os.getppid())) if group > 1])


if __name__ == "__main__":
    main()
