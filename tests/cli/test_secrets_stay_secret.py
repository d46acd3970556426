"""What an entry resolves is nowhere to be seen afterwards: on the terminal, in JSON, in logs, in any file of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import keyring
import pytest

from tests.cli.machine import Machine
from tests.memory_keyring import MemoryKeyring
from toolcrib.engine.open_gateway import open_gateway

TELLTALE = Path(__file__).with_name("programs") / "telltale.py"
# None of them looks like a secret to anyone who does not know.
SECRETS = {
    "variable": "plain-lily-one",
    "keyring": "plain-lily-two",
    "file": "plain-lily-three",
    "literal": "plain-lily-four",
    "passed": "plain-lily-five",
    "envFile": "plain-lily-six",
    "argument": "plain-lily-seven",
    "address": "plain-lily-eight",
}


@pytest.fixture
def telltale(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """How to configure the server that tells all it knows; each secret reaches it in a way of its own."""
    usual = keyring.get_keyring()
    keyring.set_keyring(MemoryKeyring())
    keyring.set_password("toolcrib", "lily", SECRETS["keyring"])
    monkeypatch.setenv("PLAIN", SECRETS["variable"])
    monkeypatch.setenv("TELLTALE_PASSED", SECRETS["passed"])
    (tmp_path / "secret.txt").write_text(SECRETS["file"])
    (tmp_path / "more.env").write_text(f"TELLTALE_MORE={SECRETS['envFile']}\n")

    def configure(manner: str, *, lily: str = "${keyring:lily}") -> None:
        entry = {
            "command": sys.executable,
            "args": ["-I", "-S", str(TELLTALE), manner, "--api-key", SECRETS["argument"], address(SECRETS["address"])],
            "env": {
                "TELLTALE_VARIABLE": "${PLAIN}",
                "TELLTALE_KEYRING": lily,
                "TELLTALE_FILE": f"${{file:{tmp_path}/secret.txt}}",
                "TELLTALE_LITERAL": SECRETS["literal"],
            },
            "passEnv": ["TELLTALE_PASSED"],
            "envFile": str(tmp_path / "more.env"),
        }
        machine.configure(json.dumps({"servers": {"telltale": entry}}))

    yield configure
    keyring.set_keyring(usual)


def address(password: str) -> str:
    return f"postgresql://me:{password}@db.example.com/x"


def told(text: str) -> list[str]:
    """The secrets that a text tells, plainly or in base64."""
    return [way for way, secret in SECRETS.items() if secret in text or secret[:-1] in text]


def written(machine: Machine) -> dict[str, list[str]]:
    """The files of ours that tell a secret; the configuration is not ours but the person's."""
    files = [file for file in machine.home.rglob("*") if file.is_file() and file != machine.paths.config_file]
    assert files
    found = {file.name: told(file.read_bytes().decode("utf-8", "replace")) for file in files}
    return {name: secrets for name, secrets in found.items() if secrets}


COMMANDS = [
    ("list", "--status"),
    ("tools", "telltale"),
    ("search", "tell something"),
    ("doctor",),
    ("discover",),
    ("execute", "telltale", "tell"),
    ("logs", "telltale"),
    ("config", "show"),
    ("config", "validate"),
]


@pytest.mark.parametrize("manner", ["exit", "refuse", "fail"])
def test_no_command_tells_what_a_server_was_given(machine: Machine, telltale: Any, manner: str) -> None:
    telltale(manner)
    for command in COMMANDS:
        for ran in (machine.run("-vv", *command), machine.run(*command, "--json")):
            assert told(ran.out + ran.err) == [], (command, ran)
    assert written(machine) == {}


def test_a_process_of_its_own_tells_nothing_on_its_standard_error_either(machine: Machine, telltale: Any) -> None:
    telltale("exit", lily="")  # the keyring of this test is in this process
    ran = machine.run_apart("-vv", "doctor")
    assert ran.code == 3
    assert "${PLAIN}" in ran.out
    assert told(ran.out + ran.err) == []


def test_what_was_covered_is_named_by_the_reference_it_came_by(machine: Machine, telltale: Any) -> None:
    telltale("exit")
    machine.run("list")
    lines = machine.run("logs", "telltale").out
    for name in ("${PLAIN}", "${keyring:lily}", "${TELLTALE_LITERAL}", "${TELLTALE_PASSED}", "${TELLTALE_MORE}"):
        assert name in lines
    assert "the last line has no end" in lines


async def test_the_library_tells_nothing_in_a_status_an_error_or_a_log_message(
    machine: Machine, telltale: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    telltale("fail")
    async with open_gateway() as gateway:
        heard = [repr(event) async for event in gateway.execute_stream("telltale", "tell")]
        servers = await gateway.list_servers()
        details = await gateway.get_tool_details("telltale", "tell")
    assert "failed with" in heard[-1]
    assert details is not None
    assert "Tells" in details.description
    assert told(f"{heard} {servers} {details} {caplog.text}") == []


async def test_what_a_tool_answers_passes_as_it_came(machine: Machine, telltale: Any) -> None:
    telltale("answer")
    async with open_gateway() as gateway:
        outcome = await gateway.execute_tool("telltale", "tell")
    assert outcome.result is not None
    assert SECRETS["variable"] in outcome.result.text


async def test_what_a_tool_answers_is_covered_where_that_is_wanted(
    machine: Machine, telltale: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    telltale("answer")
    monkeypatch.setenv("TOOLCRIB_SECRETS_IN_RESULTS", "mask")
    async with open_gateway() as gateway:
        outcome = await gateway.execute_tool("telltale", "tell")
    assert outcome.result is not None
    assert told(outcome.result.text) == []
    assert "${PLAIN}" in outcome.result.text


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "${PLAIN}"},
        {"command": "/opt/${PLAIN}/server"},
        {"command": sys.executable, "cwd": "/srv/${PLAIN}"},
        {"command": sys.executable, "envFile": "/srv/${PLAIN}/env"},
        {"command": "/${PLAIN}", "args": ["x"]},
    ],
)
def test_a_reference_in_a_command_or_a_folder_is_shown_as_it_is_written(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any]
) -> None:
    monkeypatch.setenv("PLAIN", SECRETS["variable"])
    machine.configure(json.dumps({"servers": {"telltale": entry}}))
    for command in (("doctor",), ("list", "--status"), ("execute", "telltale", "tell"), ("discover",)):
        for ran in (machine.run("-vv", *command), machine.run(*command, "--json")):
            assert told(ran.out + ran.err) == [], (command, ran)
    assert "${PLAIN}" in machine.run("doctor").out
    assert written(machine) == {}
