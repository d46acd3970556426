"""audit: what ran and what was decided, and whether the log of it is whole."""

from __future__ import annotations

import csv
import json
import re
import sys
import time

import pytest

from tests.cli.machine import Machine
from tests.cli.recorded_calls import a_call, interrupted, record, watching
from toolcrib.approvals.events import Event
from toolcrib.config.settings import Settings
from toolcrib.engine.audited import audited
from toolcrib.engine.from_settings import audit_file
from toolcrib.storage.audit_file import head_path

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal and no such pipe")


def shown(machine: Machine, *arguments: str) -> list[str]:
    return [line["tool"] for line in machine.run("audit", "show", "--json", *arguments).json["lines"]]


def edit(machine: Machine, old: bytes, new: bytes) -> None:
    log = machine.paths.audit_log
    text = log.read_bytes()
    assert old in text
    log.write_bytes(text.replace(old, new, 1))


def test_calls_and_decisions_are_shown_with_their_numbers(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.run("execute", "friendly", "ping")
    audited(audit_file(Settings(), machine.paths), "cli")(
        Event("approval_approved", time.time(), "ada", "github", "request-1")
    )

    call, decision = machine.run("audit", "show", "--json").json["lines"]
    assert (call["n"], call["client"], call["server"], call["tool"], call["outcome"]) == (
        1,
        "cli",
        "friendly",
        "ping",
        "OK",
    )
    assert (decision["n"], decision["client"], decision["tool"]) == (2, "ada", "request-1")
    heading, first, second = machine.run("audit", "show").out.splitlines()
    assert re.split(r"\s{2,}", heading) == ["LINE", "TIME", "TOOK", "OUTCOME", "CALLER", "ABOUT"]
    assert re.split(r"\s{2,}", first)[3:] == ["OK", "cli", "friendly:ping"]
    assert re.split(r"\s{2,}", second)[2:] == ["-", "approval_approved", "ada", "github:request-1"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--server", "git*"], ["merge", "issues"]),
        (["--tool", "files:*"], ["read"]),
        (["--caller", "cursor"], ["merge"]),
        (["--outcome", "tool_*"], ["issues"]),
        (["-n", "1"], ["read"]),
        (["--since", "2h"], []),
    ],
)
def test_lines_are_chosen_by_server_tool_caller_outcome_and_time(
    arguments: list[str], found: list[str], machine: Machine
) -> None:
    record(
        machine,
        [
            a_call("merge", server="github", client="cursor"),
            a_call("issues", server="github", outcome="TOOL_EXECUTION_ERROR"),
            a_call("read"),
        ],
    )

    assert shown(machine, *arguments) == found


def test_a_whole_log_is_found_whole(machine: Machine) -> None:
    record(machine, [a_call(str(number)) for number in range(30)], max_bytes=4_000)

    ran = machine.run("audit", "verify")
    assert (ran.code, ran.out) == (0, "Lines 1 to 30 are whole.\n")
    told = machine.run("audit", "verify", "--json").json
    assert (told["whole"], told["first"], told["last"], told["breaks"]) == (True, 1, 30, [])


def test_a_changed_line_is_named_and_the_command_fails(machine: Machine) -> None:
    record(machine, [a_call(f"t{number}") for number in range(1, 10)])
    edit(machine, b'"t5"', b'"t0"')

    ran = machine.run("audit", "verify")
    assert ran.code != 0
    assert ran.out.splitlines() == ["Lines 1 to 4 fit together.", "Line 5 was changed, or one before it."]
    assert machine.run("audit", "verify", "--json").json["breaks"][0]["line"] == 5
    assert machine.run("audit", "verify", "--from", "6").code == 0


def test_a_line_that_somebody_put_before_the_first_is_no_line_like_the_others(machine: Machine) -> None:
    record(machine, [a_call("read")])
    log = machine.paths.audit_log
    forged = json.loads(log.read_bytes())
    forged = {name: value for name, value in forged.items() if name not in ("n", "previous", "hash")}
    log.write_bytes(json.dumps({**forged, "tool": "forged"}).encode() + b"\n" + log.read_bytes())

    ran, listed = machine.run("audit", "verify"), machine.run("audit", "show")
    assert ran.code != 0
    assert "Before line 1 are lines that Toolcrib did not write" in ran.out
    assert "forged" in listed.out
    assert "Lines without a number are not part of the chain" in listed.err


def test_a_log_that_is_not_there_is_not_called_empty(machine: Machine) -> None:
    assert "There is no audit log" in machine.run("audit", "verify").out
    assert "There is no audit log" in machine.run("audit", "export", "--head").err
    for command in (["audit", "show"], ["calls"]):
        told = machine.run(*command).err
        assert "There is no audit log yet" in told
        assert machine.paths.audit_log.name in told
    record(machine, [a_call("read")])
    assert "No line of the audit log fits." in machine.run("audit", "show", "--tool", "none").err


@pytest.mark.parametrize("command", [["audit", "show"], ["calls"]])
def test_a_caller_with_a_long_name_keeps_the_columns_in_line(command: list[str], machine: Machine) -> None:
    record(machine, [a_call("read"), a_call("read", client="a client for token nightly-builds"), a_call("read")])

    heading, *lines = machine.run(*command).out.splitlines()

    assert {line.index("files:read") for line in lines} == {max(heading.find("ABOUT"), heading.find("TOOL"))}
    record(machine, [a_call("read", client="x" * 300)])
    assert machine.run(*command).out.splitlines()[1].index("files:read") < 120


def test_a_check_from_a_line_that_is_not_there_is_refused(machine: Machine) -> None:
    record(machine, [a_call("read"), a_call("read")])

    refused = machine.run("audit", "verify", "--from", "3")

    assert (refused.code, refused.out, "the audit log ends with line 2" in refused.err) == (1, "", True)
    assert machine.run("audit", "verify", "--from", "2").out == "Lines 2 to 2 are whole.\n"


def test_a_log_that_was_cut_is_found_by_the_number_of_its_last_line(machine: Machine) -> None:
    record(machine, [a_call(f"t{number}") for number in range(1, 10)])
    log = machine.paths.audit_log
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-2]))

    ran = machine.run("audit", "verify")
    assert ran.code != 0
    assert "Lines 8 to 9 are missing." in ran.out


def test_without_its_head_a_log_may_have_been_cut_and_every_line_that_is_there_counts(machine: Machine) -> None:
    record(machine, [a_call(f"t{number}") for number in range(1, 10)])
    head_path(machine.paths.audit_log).unlink()

    ran = machine.run("audit", "verify")
    assert ran.code != 0
    assert ran.out.splitlines()[0] == "Lines 1 to 9 fit together."
    assert "nobody can tell whether lines after line 9 were cut off." in " ".join(ran.out.split())
    assert machine.run("audit", "verify", "--json").json["breaks"][0]["line"] == 10


def test_a_line_that_its_writer_could_not_confirm_is_named_and_frightens_nobody(machine: Machine) -> None:
    record(machine, [a_call("one"), a_call("two")])
    head = head_path(machine.paths.audit_log)
    known = head.read_bytes()
    record(machine, [a_call("three")])
    head.write_bytes(known)

    ran = machine.run("audit", "verify")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "Lines 1 to 2 are whole.")
    assert "Line 3 is not confirmed: the process that wrote it was ended" in " ".join(ran.out.split())
    told = machine.run("audit", "verify", "--json").json
    assert (told["whole"], told["unconfirmed"]) == (True, [3])

    record(machine, [a_call("later")])
    ran = machine.run("audit", "verify")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "Lines 1 to 5 are whole.")
    assert "Line 3 is not confirmed" in ran.out


def test_a_log_that_was_rewritten_with_its_head_is_found_by_a_hash_kept_elsewhere(machine: Machine) -> None:
    record(machine, [a_call("real")])
    number, kept = machine.run("audit", "export", "--head").out.split()
    assert (number, len(kept)) == ("1", 64)
    record(machine, [a_call("later")])
    assert machine.run("audit", "verify", "--expect", kept).code == 0

    for file in machine.paths.state_dir.glob("audit.jsonl*"):
        file.unlink()
    record(machine, [a_call("forged"), a_call("later")])

    assert machine.run("audit", "verify").code == 0
    ran = machine.run("audit", "verify", "--expect", kept)
    assert ran.code != 0
    assert "No line has the expected hash" in ran.out


def test_an_export_is_the_log_byte_for_byte(machine: Machine) -> None:
    record(machine, [a_call("délivrer_文件"), *(a_call(str(number)) for number in range(30))], max_bytes=4_000)
    log = machine.paths.audit_log
    files = [log.with_name(f"audit.jsonl.{number}") for number in range(4, 0, -1)]
    whole = b"".join(file.read_bytes() for file in [*files, log] if file.exists())

    assert machine.run("audit", "export").out.encode() == whole


def test_an_export_as_a_table_has_every_line_and_no_formula(machine: Machine) -> None:
    record(machine, [a_call("read", server="=cmd()"), a_call('a "b", c', outcome="CANCELLED")])

    first, second = csv.DictReader(machine.run("audit", "export", "--format", "csv").out.splitlines())
    assert (first["n"], first["server"], first["tool"], first["argumentNames"]) == ("1", "'=cmd()", "read", "path")
    assert (second["n"], second["tool"], second["outcome"]) == ("2", 'a "b", c', "CANCELLED")


def test_a_line_that_would_steer_a_terminal_is_shown_and_exported_harmless(machine: Machine) -> None:
    record(machine, [a_call("\x1b[2Jping\u202e")])
    with machine.paths.audit_log.open("ab") as log:
        log.write(b"\x1b[2J\xe2\x80\xaeforeign\n")

    for action in ("show", "export", "verify"):
        ran = machine.run("audit", action)
        assert "\x1b" not in ran.out
        assert "\u202e" not in ran.out


@pytest.mark.parametrize("arguments", [["verify", "--expect", "abc"], ["verify", "--from", "x"], ["destroy"], []])
def test_what_makes_no_sense_is_refused(arguments: list[str], machine: Machine) -> None:
    assert machine.run("audit", *arguments).code == 1


@posix_only
def test_followed_lines_come_as_they_are_written(machine: Machine) -> None:
    record(machine, [a_call("before")])
    with watching(machine, "audit", "tail", "-f", "--json") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["tool"] == "before"
        record(machine, [a_call("after")])
        line = json.loads(process.stdout.readline())

        assert (line["n"], line["tool"]) == (2, "after")
        assert interrupted(process) == (130, "")
