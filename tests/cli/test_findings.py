"""What the scanner found, as a person meets it: in the doctor's answer and before a decision."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.machine import Machine

PROGRAMS = Path(__file__).parents[1] / "threats" / "programs"
HIDDEN, POISON = PROGRAMS / "hidden_words.py", PROGRAMS / "poisoned_tools.py"


def evil(machine: Machine) -> None:
    machine.configure(f"servers: {{evil: {{command: {sys.executable}, args: [-I, -S, {HIDDEN}]}}}}")


def test_the_doctor_says_what_is_odd_where_and_why(machine: Machine) -> None:
    evil(machine)
    told = machine.run("doctor", "--json").json["servers"][0]
    shown = machine.run("doctor").out

    assert told["waitingForReview"] > 0
    assert {("hidden-text", "hard"), ("control-code", "hard")} <= {
        (finding["rule"], finding["level"]) for finding in told["findings"]
    }
    assert all(finding["where"].startswith("/") and finding["why"] for finding in told["findings"])
    assert "has invisible tag characters, which can carry a message (hidden-text at /" in " ".join(shown.split())


def test_the_doctor_says_which_tools_are_kept_away_and_which_can_still_be_used(machine: Machine) -> None:
    machine.configure(f"servers: {{poison: {{command: {sys.executable}, args: [-I, -S, {POISON}]}}}}")
    told = machine.run("doctor", "--json").json["servers"][0]
    shown = " ".join(machine.run("doctor").out.split())

    assert {(one["name"], one["level"], one["keptAway"]) for one in told["findings"]} == {
        ("hostile", "hard", True),
        ("odd", "soft", False),
    }
    assert "poison:hostile is not in use: it tells the model" in shown
    assert "poison:odd is in use, though it has a shell command" in shown

    # Neither waits for anybody, and neither can be used.
    machine.configure(f"servers: {{poison: {{command: {sys.executable}, args: [-I, -S, {POISON}], denyTools: [odd]}}}}")
    machine.run("approvals", "reject", "poison", "--yes")
    told = machine.run("doctor", "--json").json["servers"][0]
    assert {one["name"]: one["keptAway"] for one in told["findings"]} == {"hostile": True, "odd": True}

    machine.configure(f"servers: {{poison: {{command: {sys.executable}, args: [-I, -S, {POISON}]}}}}")
    machine.run("approvals", "approve", "poison", "--yes")
    told = machine.run("doctor", "--json").json["servers"][0]
    assert not any(one["keptAway"] for one in told["findings"])


def test_what_looks_hostile_is_not_written_to_where_others_take_it_for_approved(machine: Machine) -> None:
    evil(machine)
    machine.run("doctor")
    known = machine.run("capabilities", "list", "--all", "--json").json["capabilities"]
    written = machine.run("capabilities", "export", "--json").json["files"]

    assert len(known) == 4
    assert [Path(file).name for file in written] == ["ask.rtfs", "echo.rtfs", "fail.rtfs"]


def test_whoever_decides_sees_what_was_found_and_nothing_of_it_steers_the_terminal(machine: Machine) -> None:
    evil(machine)
    machine.run("doctor")
    shown = machine.run("approvals", "show", "evil").out

    assert "looks hostile" in shown
    assert "hidden-text at /" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)
