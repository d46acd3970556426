"""The README's tour, line by line, as a newcomer would type it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TOUR = re.search(r"```console\n(.*?)```", README, re.DOTALL)

SHOWS = {
    "list": "clock",
    "search": "clock:current_time",
    "inspect": "Tool: clock:current_time",
    "execute": "+09:00",
    "tools": "days_between",
    "doctor": "clock",
    "config": "Rules",
}


def commands() -> list[str]:
    assert TOUR is not None
    return [line.removeprefix("$ ") for line in TOUR[1].splitlines()]


@pytest.fixture
def shell(process_environment: dict[str, str]) -> dict[str, str]:
    """Where `python` and `toolcrib` are those of the environment the newcomer installed into, or activated."""
    here = str(Path(sys.executable).parent)
    return {**process_environment, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.timeout(180)
def test_every_line_of_the_tour_works_and_shows_what_it_says(shell: dict[str, str]) -> None:
    for command in commands():
        done = subprocess.run(shlex.split(command), env=shell, capture_output=True, text=True, timeout=60, check=False)

        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert SHOWS.get(shlex.split(command)[1], "") in done.stdout, (command, done.stdout)


@pytest.mark.timeout(120)
def test_what_the_tour_adds_works_later_from_a_client_that_knows_nothing_of_the_shell(
    shell: dict[str, str], tmp_path: Path
) -> None:
    for command in commands()[:2]:
        subprocess.run(shlex.split(command), env=shell, capture_output=True, timeout=60, check=True)

    # A client starts us by our full path, in some folder, and without the shell's search path.
    later = {**shell, "PATH": str(tmp_path)}
    words = ["execute", "clock", "days_between", "--args", '{"start": "2026-01-01", "end": "2026-01-31"}']
    done = subprocess.run(
        [sys.executable, "-m", "toolcrib", *words],
        check=False,
        env=later,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, "30" in done.stdout) == (0, True), (done.stdout, done.stderr)


def test_the_tour_covers_what_people_do_first() -> None:
    assert [shlex.split(command)[1] for command in commands()][:6] == [
        "add",
        "add",
        "list",
        "search",
        "inspect",
        "execute",
    ]


def test_the_tour_says_how_to_get_there_after_make() -> None:
    installed_into = re.search(r"^BIN := (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert installed_into is not None
    activating = f". {installed_into[1]}/activate"
    assert activating in README.partition("## Install")[2].partition("\n## ")[0]
    assert activating in README.partition("## Five-minute tour")[2].partition("```console")[0]
