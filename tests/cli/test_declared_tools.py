"""Tools that a custom file declares, as people meet them on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.machine import WORKSHOP, Machine


@pytest.fixture
def declared(machine: Machine, tmp_path: Path) -> Machine:
    """A custom file whose tools are declared; nobody has read its servers yet."""
    echo = {
        "name": "echo",
        "description": "Give a text back",
        "parameters": [{"name": "text", "type": "string", "description": "What to say", "required": True}],
    }
    connection = {"type": "stdio", "command": sys.executable, "args": ["-I", "-S", str(WORKSHOP), "friendly"]}
    servers = {
        "friendly": {"name": "Friendly", "connection": connection, "tools": [{"name": "echo"}, {"name": "ping"}]},
        "away": {"name": "Away", "connection": {"type": "stdio", "command": "never-started"}, "tools": [echo]},
    }
    (tmp_path / "custom.yaml").write_text(json.dumps({"servers": servers}))
    machine.configure(f"sources: [{{type: custom, path: {tmp_path}/custom.yaml}}]")
    return machine


@pytest.mark.parametrize("server", ["friendly", "away"])
@pytest.mark.parametrize("arguments", ["{}", '{"text": {"a": 1}}', '{"text": []}'])
def test_arguments_of_a_declared_tool_are_checked_and_end_with_exit_1(
    declared: Machine, server: str, arguments: str
) -> None:
    ran = declared.run("execute", server, "echo", "--args", arguments, "--json")
    assert ran.code == 1
    assert ran.json["error"]["code"] == "TOOL_VALIDATION_ERROR"
    assert "text" in ran.json["error"]["message"]


def test_a_declared_tool_runs_on_the_first_call(declared: Machine) -> None:
    ran = declared.run("execute", "friendly", "echo", "--args", '{"text": "hello"}', "--json")
    assert (ran.code, ran.json["result"]) == (0, "hello")


def test_the_declared_parameters_are_shown_also_where_the_server_can_not_be_reached(declared: Machine) -> None:
    shown = declared.run("inspect", "away", "echo")
    assert shown.code == 0
    assert "text (string, required)" in shown.out
    assert "What to say" in shown.out
    assert declared.run("inspect", "away", "echo", "--json").json["parameters"] == [
        {"name": "text", "type": "string", "description": "What to say", "required": True}
    ]


def test_the_servers_own_parameters_are_shown_where_the_file_names_none(declared: Machine) -> None:
    assert "text (string, required)" in declared.run("inspect", "friendly", "echo").out


def test_a_declared_tool_of_a_server_that_can_not_be_reached_says_so_once(declared: Machine) -> None:
    ran = declared.run("execute", "away", "echo", "--args", '{"text": "x"}', "--json")
    assert ran.code == 3
    assert ran.json["error"]["code"] == "SERVER_CONNECTION_ERROR"


@pytest.mark.parametrize(
    ("declaration", "place"),
    [
        ({"name": "x", "inputSchema": "string"}, "tools[0].inputSchema"),
        ({"name": "x", "parameters": {"a": 1}}, "tools[0].parameters"),
        ({"name": "x", "parameters": [{"type": "string"}]}, "tools[0].parameters"),
    ],
)
def test_a_declaration_that_can_not_be_read_is_reported_with_its_place(
    machine: Machine, declaration: object, place: str
) -> None:
    machine.configure(json.dumps({"servers": {"one": {"command": "x", "tools": [declaration]}}}))
    ran = machine.run("config", "validate", "--json")
    assert ran.code == 2
    assert ran.json["problems"][0]["path"] == f"servers.one.{place}"
