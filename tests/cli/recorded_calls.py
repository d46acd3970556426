"""Calls in the audit log, as gateways record them."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.cli.machine import BOUND_SECONDS, Machine
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.storage.audit_file import AuditFile


def a_call(
    tool: str = "ping",
    *,
    server: str = "files",
    client: str = "claude-code",
    outcome: str = "OK",
    at: float = 1_763_194_440.25,
    took: float = 12.0,
) -> AuditRecord:
    return AuditRecord(at, client, "stdio", server, tool, ("path",), outcome, took, 12, 340)


def record(machine: Machine, calls: Sequence[AuditRecord], *, max_bytes: int = 10_000_000) -> None:
    """Write them as one gateway of several does; a small `max_bytes` rotates the log between them."""

    def no_trouble(message: str) -> None:
        raise AssertionError(message)

    log = AuditFile(machine.paths.audit_log, max_bytes=max_bytes, on_trouble=no_trouble)
    for call in calls:
        log.append(call)


@contextmanager
def watching(machine: Machine, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on until it is ended, in pipes."""
    with machine.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    """How a command ends at Ctrl+C, and what it said on standard error."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=BOUND_SECONDS)
    return process.returncode, err
