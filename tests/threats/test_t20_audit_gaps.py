"""T20: what ran is in a log that shows when somebody changed it, and nothing runs unwritten where that is wanted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes import FakeServer, tool
from tests.gateways import counter
from toolcrib.cli.main import main
from toolcrib.config.paths import Paths

WRITER = """
import sys
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.engine.from_settings import audit_file
import os

log = audit_file(Settings(audit_max_bytes=20_000, audit_files=50), Paths.of(os.environ))
for number in range(150):
    assert log.append(AuditRecord(1000.0, sys.argv[1], "stdio", "files", str(number), (), "OK", 1.0, 10, 20))
"""

# The limit of a file's size ends a write in the middle of a line, as a disk does that fills up.
FULL_DISK = """
import os, resource, signal
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.engine.from_settings import audit_file

log = audit_file(Settings(), Paths.of(os.environ))
append = lambda: log.append(AuditRecord(1000.0, "test", "stdio", "files", "read", (), "OK", 1.0, 10, 20))
assert append() and append()
written = Paths.of(os.environ).audit_log.stat().st_size
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (written + 100, resource.RLIM_INFINITY))
assert not append() and not append()
assert Paths.of(os.environ).audit_log.stat().st_size == written
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert append() and append()
"""


def audit_log() -> Path:
    return Paths.of(os.environ).audit_log


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [lines[0], lines[1].replace(b"write", b"erase"), *lines[2:]], "Line 2 was changed"),
        (lambda lines: [lines[0], *lines[2:]], "Line 2 is missing"),
        (lambda lines: lines[:-1], "Line 4 is missing"),
    ],
    ids=["changed", "removed", "cut"],
)
async def test_t20_a_changed_or_missing_line_is_found(
    change: Callable[[list[bytes]], list[bytes]], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with counter(FakeServer("files", [tool("read"), tool("write")])) as gateway:
        for name in ("read", "write", "no_such_tool", "read"):
            await gateway.execute_tool("files", name)
    assert main(["audit", "verify"]) == 0
    lines = audit_log().read_bytes().splitlines(keepends=True)
    audit_log().write_bytes(b"".join(change(lines)))

    assert main(["audit", "verify"]) != 0
    assert said in capsys.readouterr().out


def test_t20_several_processes_write_one_chain(process_environment: dict[str, str]) -> None:
    environment = {**process_environment, "TOOLCRIB_HOME": str(audit_log().parent)}
    log = Paths.of(environment).audit_log
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name], env=environment) for name in ("a", "b", "c")]
    assert [writer.wait(40) for writer in writers] == [0, 0, 0]
    ran = subprocess.run(
        [sys.executable, "-m", "toolcrib", "audit", "verify"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )

    assert (ran.returncode, ran.stdout) == (0, "Lines 1 to 450 are whole.\n"), ran.stderr
    assert log.with_name("audit.jsonl.1").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's size")
def test_t20_a_disk_that_fills_up_within_a_line_leaves_no_piece_of_it(process_environment: dict[str, str]) -> None:
    environment = {**process_environment, "TOOLCRIB_HOME": str(audit_log().parent)}
    for program in (["-c", FULL_DISK], ["-m", "toolcrib", "audit", "verify"]):
        ran = subprocess.run(
            [sys.executable, *program], env=environment, capture_output=True, text=True, timeout=40, check=False
        )
        assert ran.returncode == 0, ran.stderr

    assert "Lines 1 to 4 are whole.\n" in ran.stdout
    assert "2 lines could not be written when they were due." in ran.stdout + ran.stderr


async def test_t20_a_full_disk_refuses_calls_where_that_is_wanted() -> None:
    server = FakeServer("files", [tool("write")])
    async with counter(server, audit_on_failure="refuse") as gateway:
        assert (await gateway.execute_tool("files", "write")).success
        audit_log().unlink()
        audit_log().mkdir()
        refused = await gateway.execute_tool("files", "write")
        audit_log().rmdir()
        again = await gateway.execute_tool("files", "write")

    assert (refused.success, refused.error.code if refused.error else "") == (False, "AUDIT_UNAVAILABLE")
    assert again.success
    assert server.count("tools/call") == 2


async def test_t20_a_full_disk_stops_nobody_otherwise() -> None:
    audit_log().mkdir(parents=True)
    async with counter(FakeServer("files", [tool("write")])) as gateway:
        assert (await gateway.execute_tool("files", "write")).success
