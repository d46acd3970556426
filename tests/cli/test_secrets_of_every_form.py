"""A value whose name says that it is secret is nowhere to be seen, also if it looks like an id, a word or a number."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.machine import Machine
from toolcrib.engine.open_gateway import open_gateway

TELLTALE = Path(__file__).with_name("programs") / "telltale.py"
GIVEN = {
    "TELLTALE_API_KEY": "3f2b8c1e-9d4a-4f6b-8e2d-1c5a7b9e0f34",
    "TELLTALE_PASSWORD": "qHxWbvLkPzTrYmNc",
    "TELLTALE_PIN": "8675309123456",
    "TELLTALE_SECRET": "correcthorsebatt",
}
OPTION = "hunter-two-22"
COMMANDS = [
    ("list", "--status"),
    ("inspect", "telltale", "tell"),
    ("capabilities", "list"),
    ("search", "tell something"),
    ("doctor",),
    ("execute", "telltale", "tell"),
    ("logs", "telltale"),
]


def configure(machine: Machine, manner: str) -> None:
    entry = {
        "command": sys.executable,
        "args": ["-I", "-S", str(TELLTALE), manner, "--password", OPTION],
        "env": {name: f"${{MY_{name}}}" for name in GIVEN},
    }
    machine.configure(json.dumps({"servers": {"telltale": entry}, "secrets": {"inResults": "mask"}}))


def told(text: str) -> list[str]:
    return [value for value in (*GIVEN.values(), OPTION) if value in text]


@pytest.mark.parametrize("manner", ["exit", "fail", "answer"])
def test_a_secret_that_looks_like_an_id_or_a_word_is_told_by_no_command_and_in_no_file(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    for name, value in GIVEN.items():
        monkeypatch.setenv(f"MY_{name}", value)
    configure(machine, manner)
    for command in COMMANDS:
        for ran in (machine.run("-vv", *command), machine.run(*command, "--json")):
            assert told(ran.out + ran.err) == [], command
    files = [file for file in machine.home.rglob("*") if file.is_file() and file != machine.paths.config_file]
    assert {file.name: found for file in files if (found := told(file.read_bytes().decode("utf-8", "replace")))} == {}


async def test_an_agent_does_not_hear_it_in_an_error_or_a_result(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in GIVEN.items():
        monkeypatch.setenv(f"MY_{name}", value)
    heard: list[Any] = []
    for manner in ("fail", "answer"):
        configure(machine, manner)
        async with open_gateway() as gateway:
            # What an agent mixes up: a value in place of a name.
            outcomes = [await gateway.execute_tool("telltale", name) for name in ("tell", *GIVEN.values())]
            heard += [await gateway.get_tool_details("telltale", "tell"), *outcomes[:1]]
    assert told(repr(heard)) == []
    assert told(machine.paths.audit_log.read_text("utf-8")) == []


async def test_a_secret_that_came_as_the_name_of_an_argument_is_not_in_the_audit_log(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in GIVEN.items():
        monkeypatch.setenv(f"MY_{name}", value)
    configure(machine, "fail")
    async with open_gateway() as gateway:
        await gateway.execute_tool("telltale", "tell")
        await gateway.execute_tool("telltale", "tell", dict.fromkeys(GIVEN.values(), 1))
    records = [json.loads(line) for line in machine.paths.audit_log.read_text("utf-8").splitlines()]
    assert [record["argumentNames"] for record in records] == [[], [f"${{MY_{name}}}" for name in GIVEN]]
    assert all(record["fingerprint"] for record in records)
