from __future__ import annotations

import pytest

from tests.cli.machine import Machine


@pytest.mark.parametrize(
    "words",
    [
        ("trust",),
        ("add", "notes", "--", "notes-mcp"),
        ("adopt", "--yes"),
        ("release", "--yes"),
        ("enable", "notes"),
        ("execute", "notes", "delete", "--yes"),
        ("approvals", "approve", "notes", "--yes"),
        ("approvals", "reject", "notes"),
        ("peers", "trust", "kitchen"),
        ("token", "create", "ci"),
    ],
)
def test_a_command_inside_a_server_can_not_decide(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("TOOLCRIB_INSIDE", "1")

    ran = machine.run(*words)

    assert ran.code != 0
    assert "not from a person" in ran.err
    assert not machine.paths.config_file.exists()


def test_a_command_inside_a_server_can_look(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_INSIDE", "1")

    assert machine.run("approvals", "list").code == 0
    assert machine.run("list").code == 0
