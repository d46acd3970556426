"""execute: a call that a person has to confirm."""

from __future__ import annotations

from tests.cli.machine import Machine


def test_a_call_that_needs_a_yes_runs_with_it_and_not_without(machine: Machine) -> None:
    machine.workshop("friendly", more="toolRules: [{pattern: [ping], confirm: true}]\n")
    refused = machine.run("execute", "friendly", "ping")
    agreed = machine.run("execute", "friendly", "ping", "--yes")
    again = machine.run("execute", "friendly", "ping", "--json")

    assert refused.code != 0
    assert "CONFIRMATION_REQUIRED" in refused.out
    assert "--yes" in refused.out
    assert agreed.code == 0
    assert again.json["error"]["code"] == "CONFIRMATION_REQUIRED"
