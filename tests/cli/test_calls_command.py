"""calls: what all clients called, past and as it comes."""

from __future__ import annotations

import json
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.machine import BOUND_SECONDS, Machine
from tests.cli.recorded_calls import a_call, interrupted, record, watching
from toolcrib.approvals.events import Event
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.config.settings import Settings
from toolcrib.engine.audited import audited
from toolcrib.engine.from_settings import audit_file
from toolcrib.storage.audit_file import AuditFile
from toolcrib.storage.audit_trail import AuditTrail

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal and no such pipe")


def names(machine: Machine, *arguments: str) -> list[str]:
    return [call["tool"] for call in machine.run("calls", "--json", *arguments).json["calls"]]


def test_a_call_that_was_just_made_is_shown_with_who_made_it_and_how_it_ended(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.run("execute", "friendly", "ping")
    machine.run("execute", "friendly", "no_such_tool")

    good, bad = machine.run("calls", "--json").json["calls"]

    assert (good["client"], good["face"], good["server"], good["tool"]) == ("cli", "cli", "friendly", "ping")
    assert (good["outcome"], bad["outcome"]) == ("OK", "TOOL_NOT_FOUND")
    assert good["durationMs"] > 0
    assert good["resultBytes"] > 0
    assert abs(datetime.fromisoformat(good["time"]).timestamp() - time.time()) < BOUND_SECONDS
    shown = machine.run("calls").out.splitlines()
    assert re.split(r"\s{2,}", shown[0]) == ["ENDED", "TOOK", "OUTCOME", "CLIENT", "TOOL"]
    assert re.split(r"\s{2,}", shown[1])[2:] == ["OK", "cli", "friendly:ping"]


def test_the_last_twenty_calls_are_shown_newest_last_also_from_files_that_were_rotated(machine: Machine) -> None:
    record(machine, [a_call(f"t{number}") for number in range(50)], max_bytes=2_500)

    assert machine.paths.audit_log.with_name("audit.jsonl.2").exists()
    assert names(machine) == [f"t{number}" for number in range(30, 50)]
    assert names(machine, "-n", "3") == ["t47", "t48", "t49"]
    assert names(machine, "--lines", "0") == []
    assert len(machine.run("calls").out.splitlines()) == 21


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--server", "git*"], ["merge", "list_issues"]),
        (["--server", "files"], ["read", "write"]),
        (["--tool", "*e"], ["merge", "write"]),
        (["--tool", "github:*"], ["merge", "list_issues"]),
        (["--client", "cursor"], ["merge", "write"]),
        (["--client", "c*", "--failed"], ["write"]),
        (["--failed"], ["list_issues", "write"]),
        (["--failed", "-n", "1"], ["write"]),
        (["--server", "nobody"], []),
    ],
)
def test_calls_are_chosen_by_server_tool_client_and_outcome(
    arguments: list[str], found: list[str], machine: Machine
) -> None:
    calls = [
        a_call("merge", server="github", client="cursor"),
        a_call("list_issues", server="github", client="zed", outcome="TOOL_EXECUTION_ERROR"),
        a_call("read", client="claude-code"),
        a_call("write", client="cursor", outcome="CANCELLED"),
    ]
    record(machine, calls)

    assert names(machine, *arguments) == found


@pytest.mark.parametrize("since", ["2h", "120m", "7200s", "{moment}"])
def test_only_calls_since_a_moment_are_shown(since: str, machine: Machine) -> None:
    now = time.time()
    record(machine, [a_call("old", at=now - 7_500), a_call("young", at=now - 6_900)])
    moment = datetime.fromtimestamp(now - 7_200, UTC).isoformat()

    assert names(machine, "--since", since.format(moment=moment)) == ["young"]
    assert names(machine, "--since", "1d") == ["old", "young"]
    assert names(machine, "--since", "2020-01-01") == ["old", "young"]


@pytest.mark.parametrize(
    ("since", "said"), [("yesterday", "such as 30m, 2h or 7d"), ("9999-12-31T23:59:59+00:00", "is in the future")]
)
def test_a_moment_that_is_none_is_refused_with_the_reason(since: str, said: str, machine: Machine) -> None:
    ran = machine.run("calls", "--since", since)

    assert ran.code == 1
    assert said in ran.err


@pytest.mark.parametrize("since", ["999999w", "0001-01-01", "0001-01-01T00:00+14:00", "1969-12-31"])
@pytest.mark.parametrize("command", ["calls", "stats"])
def test_a_moment_long_ago_is_understood_or_refused(command: str, since: str, machine: Machine) -> None:
    record(machine, [a_call("ping")])

    ran = machine.run(command, "--since", since)

    assert ran.code in {0, 1}
    assert "nobody foresaw" not in ran.err


def log_line(call: AuditRecord) -> bytes:
    """A record as it is written."""
    file = Path("one.jsonl").resolve()
    AuditFile(file, on_trouble=print).append(call)
    return file.read_bytes()


def test_what_is_no_call_is_not_shown(machine: Machine) -> None:
    tell = audited(audit_file(Settings(), machine.paths), "cli")
    tell(Event("approval_approved", time.time(), "a person", "github", "request-1"))
    with machine.paths.audit_log.open("ab") as log:
        log.write(b'{"time":"torn\n[]\n\xff\n{"time":1}\n')
        for odd in ("0001-01-01T00:00:00", "9999-12-31T23:59:59Z"):
            log.write(log_line(a_call("odd")).replace(b"2025-11-15T08:14:00.250+00:00", odd.encode()))
    record(machine, [a_call("ping")])

    assert names(machine) == ["ping"]
    assert "No recorded call fits." in machine.run("calls", "--failed").err


def test_a_name_that_would_steer_a_terminal_is_shown_harmless(machine: Machine) -> None:
    record(machine, [a_call("\x1b[2Jping\u202e")])

    ran = machine.run("calls")
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "ping" in ran.out


@posix_only
def test_followed_calls_come_as_they_are_made_and_none_is_lost_while_the_log_is_rotated(machine: Machine) -> None:
    record(machine, [a_call("before")])
    with watching(machine, "calls", "-f", "--json", "--server", "files") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["tool"] == "before"
        for batch in range(5):
            expected = [f"t{batch}-{number}" for number in range(12)]
            record(machine, [a_call("other", server="git"), *map(a_call, expected)], max_bytes=1_500)
            assert [json.loads(process.stdout.readline())["tool"] for _ in expected] == expected

        assert interrupted(process) == (130, "")


@posix_only
def test_followed_calls_are_lines_of_the_same_table(machine: Machine) -> None:
    with watching(machine, "calls", "--follow", "--failed") as process:
        assert process.stdout is not None
        assert process.stdout.readline().split() == ["ENDED", "TOOK", "OUTCOME", "CLIENT", "TOOL"]
        record(machine, [a_call("fine"), a_call("slow", outcome="TOOL_EXECUTION_TIMEOUT", took=300_000.0)])
        line = process.stdout.readline()

        assert re.split(r"\s{2,}", line.strip())[1:] == ["300 s", "TOOL_EXECUTION_TIMEOUT", "claude-code", "files:slow"]
        assert interrupted(process) == (130, "")


@posix_only
def test_following_ends_when_its_reader_goes_away_though_nothing_more_is_called(machine: Machine) -> None:
    record(machine, [a_call("only")])
    with watching(machine, "calls", "-f", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()

        assert process.wait(BOUND_SECONDS) == 141
        assert process.stderr.read() == ""


def test_a_new_log_is_read_whole_though_it_has_inode_and_size_of_the_one_before(machine: Machine) -> None:
    record(machine, [a_call("one"), a_call("two")])
    trail, log = AuditTrail(machine.paths.audit_log), machine.paths.audit_log
    assert [call.tool for call in trail.last(lambda _: True)] == ["one", "two"]

    with log.open("r+b") as same:
        text = same.read()
        same.seek(0)
        same.write(text.replace(b'"one"', b'"six"').replace(b'"two"', b'"ten"'))

    assert [call.tool for call in trail.new(lambda _: True)] == ["six", "ten"]
    assert trail.new(lambda _: True) == []
