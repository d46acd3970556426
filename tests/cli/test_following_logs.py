"""logs -f: what a server writes to its standard error, as it comes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.machine import BOUND_SECONDS, Machine, eventually
from tests.cli.recorded_calls import interrupted, watching
from toolcrib.cli.server_log import FollowedLog
from toolcrib.upstream.stderr_ring import StderrRing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal and no such pipe")


@pytest.fixture
def log(machine: Machine) -> Path:
    """The file of a configured server, in its folder."""
    machine.workshop("friendly")
    machine.paths.logs_dir.mkdir()
    return machine.paths.logs_dir / "friendly.log"


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_lines_come_as_they_are_written_after_the_last_ones_and_it_ends_at_an_interrupt(
    log: Path, machine: Machine
) -> None:
    ring = StderrRing(file=log)
    ring.feed(b"one\ntwo\nthree\n")
    with watching(machine, "logs", "-f", "friendly", "-n", "2") as process:
        assert [next_line(process), next_line(process)] == ["two\n", "three\n"]
        for number in range(3):
            ring.feed(b"line %d\n" % number)
            assert next_line(process) == f"line {number}\n"

        assert interrupted(process) == (130, "")


def test_what_a_started_server_says_is_followed_from_its_first_word_on(machine: Machine) -> None:
    machine.workshop("friendly")
    with watching(machine, "logs", "--follow", "friendly", "--json") as process:
        machine.run("execute", "friendly", "ping")

        assert json.loads(next_line(process)) == {
            "server": "friendly",
            "line": "workshop friendly ready \ufffd]0;title\ufffd",
        }


def test_a_key_that_is_written_while_somebody_watches_is_not_shown(log: Path, machine: Machine) -> None:
    with watching(machine, "logs", "-f", "friendly") as process:
        log.write_text(f"started with gh\x1b[0mp_{'a1B2c3' * 6}\n", "utf-8")

        assert next_line(process) == "started with ***\n"


def test_following_a_log_ends_when_its_reader_goes_away(log: Path, machine: Machine) -> None:
    log.write_text("one\n", "utf-8")
    with watching(machine, "logs", "-f", "friendly") as process:
        next_line(process)
        assert process.stdout is not None
        process.stdout.close()

        assert process.wait(BOUND_SECONDS) == 141


def test_a_remote_server_has_no_lines_to_follow(machine: Machine) -> None:
    machine.configure("servers: {far: {url: 'http://127.0.0.1:1/mcp'}}")

    ran = machine.run("logs", "-f", "far")

    assert ran.code == 0
    assert "is remote" in ran.err


@pytest.mark.parametrize("looks_every", [1, 7, 40])
def test_each_line_is_shown_once_though_the_file_is_rewritten_again_and_again(looks_every: int, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    ring, followed = StderrRing(max_bytes=4_096, file=file), FollowedLog(file)
    written, shown = [f"line {number} {'x' * (1 + number % 50)}" for number in range(2_000)], []
    smallest = 0
    for number, line in enumerate(written):
        ring.feed(f"{line}\n".encode())
        smallest += file.stat().st_size < 4_200
        if number % looks_every == 0:
            shown += followed.look()
    shown += followed.look()

    assert smallest > 10, "the file was never rewritten"
    assert shown == written


def test_lines_of_two_gateways_are_shown_once_though_each_rewrites_the_file_with_its_own(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    rings = [StderrRing(max_bytes=4_096, file=file) for _ in range(2)]
    followed, written, shown = FollowedLog(file), [], []
    for number in range(1_000):
        written.append(f"gateway {number % 2} line {number} {'x' * (1 + number % 50)}")
        rings[number % 2].feed(f"{written[-1]}\n".encode())
        shown += followed.look()

    assert shown == written


def test_a_file_that_is_seen_half_rewritten_shows_nothing_twice(tmp_path: Path) -> None:
    file, followed = tmp_path / "server.log", FollowedLog(tmp_path / "server.log")
    lines = [f"line {number}\n" for number in range(20)]
    file.write_text("".join(lines), "utf-8")
    followed.look()
    for rewritten in ("", "ne 10\n", "ne 10\nline 11\n", f"ne 10\n{''.join(lines[11:])}"):
        file.write_text(rewritten, "utf-8")
        assert followed.look() == []
    file.write_text(f"ne 10\n{''.join(lines[11:])}line 20\nline 11\n", "utf-8")

    assert followed.look() == ["line 20", "line 11"]


def test_a_line_is_shown_when_it_is_whole(tmp_path: Path) -> None:
    file, followed = tmp_path / "server.log", FollowedLog(tmp_path / "server.log")
    file.write_text("begun", "utf-8")
    assert followed.look() == []
    with file.open("a", encoding="utf-8") as more:
        more.write(" and ended\n")

    eventually(lambda: followed.look() == ["begun and ended"])
