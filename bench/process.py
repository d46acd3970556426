"""What the system says of a running process (Linux)."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

PROC = Path("/proc")
# A process that uses less than a hundredth of such a time is idle.
IDLE_SECONDS = 0.5
MOST_SECONDS_TO_IDLE = 30.0
THEN_WAIT = 'import sys; print("ready", flush=True); sys.stdin.read()'


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads, precise to the nanosecond."""
    tasks = (PROC / str(pid) / "task").glob("*/schedstat")
    return sum(int(task.read_text("ascii").split()[0]) for task in tasks) / 1e9


def wait_until_idle(pid: int) -> None:
    """Returns when the process has stopped working: what it does after its start belongs to no call."""
    deadline = time.monotonic() + MOST_SECONDS_TO_IDLE
    before = cpu_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(IDLE_SECONDS)
        now = cpu_seconds(pid)
        if now - before < IDLE_SECONDS / 100:
            return
        before = now
    raise TimeoutError(f"process {pid} still works after {MOST_SECONDS_TO_IDLE} seconds")


def resident_megabytes(pid: int) -> float:
    """Memory that is in use and in RAM."""
    return _megabytes(pid, "VmRSS:")


def program_megabytes(code: str = "") -> float:
    """The same for a Python process that has run this code and waits."""
    command = [sys.executable, "-c", f"{code}\n{THEN_WAIT}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        used = resident_megabytes(process.pid)
        process.stdin.close()
    return used


def peak_megabytes(pid: int) -> float:
    """The most memory that was ever in use and in RAM."""
    return _megabytes(pid, "VmHWM:")


def proportional_megabytes(pid: int) -> float:
    """Memory in RAM, of which what several processes use counts by its share (PSS)."""
    for line in (PROC / str(pid) / "smaps_rollup").read_text("utf-8").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"process {pid} has no memory of its own any more")


def _megabytes(pid: int, field: str) -> float:
    for line in (PROC / str(pid) / "status").read_text("utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(f"process {pid} has no memory of its own any more")


def children(pid: int) -> list[int]:
    """Processes that this one has started and that still run."""
    found = []
    for status in PROC.glob("[0-9]*/stat"):
        try:
            after_name = status.read_text("utf-8", "replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(after_name[1]) == pid:
            found.append(int(status.parent.name))
    return found
