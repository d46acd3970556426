"""Commands that look at entries, right or wrong ones, repeat none of the secrets people wrote into them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.machine import Machine
from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.config.load import load_settings
from toolcrib.engine.capabilities import read_capabilities
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.model.server import Launch, RemoteLaunch, StdioLaunch

SECRET = "s3cr3t-lily-0f-the-valley"
GITHUB_KEY = "ghp_" + "a1B2c3" * 6
ODD_ENTRIES: list[Any] = [
    {"command": "x", "env": f"GITHUB_TOKEN={SECRET}"},
    {"command": "x", "env": [f"GITHUB_TOKEN={SECRET}"]},
    {"command": "x", "env": {f"A TOKEN={SECRET}": "1"}},
    {"command": {"token": SECRET}},
    {"command": f"npx thing --token {SECRET}"},
    {"command": "x", "args": f'"--token={SECRET}'},
    {"command": "x", "args": {"token": SECRET}},
    {"url": f"me:{SECRET}@example.com"},
    {"url": f"ftp://me:{SECRET}@example.com"},
    {"url": "https://example.com", "headers": f"Authorization: Bearer {SECRET}"},
    {"url": "https://example.com", "headers": {"Authorization": f"Bearer {SECRET}\nX: 1"}},
    {"url": "https://example.com", "headers": {f"Bearer token={SECRET}": "1"}},
    {"url": f"https://example.com/mcp?token={SECRET}", "command": "x"},
    {"type": f"token={SECRET}"},
    {"connection": f"https://me:{SECRET}@exa mple.com"},
    f"token={SECRET}",
    {"command": "x", "timeout": f"token={SECRET}"},
    {"command": "x", f"token={SECRET}": 1},
    {"command": "x", "allowTools": f"token={SECRET}"},
]
LOOKING = (("config", "show"), ("config", "validate"), ("config", "sources"), ("list", "--wait", "0"), ("doctor",))


@pytest.mark.parametrize("entry", ODD_ENTRIES, ids=lambda entry: json.dumps(entry).replace(SECRET, "SECRET")[:60])
def test_what_is_wrong_with_an_entry_is_said_without_its_secrets(machine: Machine, entry: Any) -> None:
    machine.configure(json.dumps({"servers": {"odd": entry}}))
    for command in LOOKING:
        for ran in (machine.run(*command), machine.run(*command, "--json")):
            assert SECRET not in ran.out + ran.err, (command, ran)


@pytest.fixture
def proposed(machine: Machine) -> Any:
    def propose(launch: Launch) -> str:
        with read_capabilities(load_settings()) as capabilities:
            return capabilities.review.propose(ProposalRequest(name="far", launch=launch, source="agent"), "agent").id

    return propose


@pytest.mark.parametrize(
    "launch",
    [
        RemoteLaunch("https://example.com/mcp", {"Authorization": f"Bearer {SECRET}", "X-Anything": SECRET}),
        RemoteLaunch(f"https://me:{SECRET}@example.com/mcp?anything={SECRET}"),
        StdioLaunch("npx", ("-y", "thing", f"postgresql://me:{SECRET}@db.example.com/x"), {"NOTES_TOKEN": SECRET}),
    ],
)
def test_a_proposal_shows_no_credential_on_the_terminal_in_json_or_in_its_files(
    machine: Machine, proposed: Any, launch: Launch
) -> None:
    id = proposed(launch)
    for command in (("list",), ("show", id)):
        for ran in (machine.run("approvals", *command), machine.run("approvals", *command, "--json")):
            assert ran.code == 0
            assert SECRET not in ran.out + ran.err
    files = [file for file in (machine.home / "capabilities").rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if SECRET.encode() in file.read_bytes()]


def test_whoever_approves_a_command_sees_all_of_it_but_well_known_keys(machine: Machine, proposed: Any) -> None:
    id = proposed(
        StdioLaunch(
            "node",
            ("--auth-script=./evil.js", "--token", "/tmp/evil.sh", GITHUB_KEY),
            {"NOTES_OPTIONS": "--import=./x.js"},
        )
    )
    shown = machine.run("approvals", "show", id).out
    assert "node --auth-script=./evil.js --token /tmp/evil.sh '***'" in shown
    assert "Gets variable: NOTES_OPTIONS=--import=./x.js" in shown


def test_a_registry_with_a_key_in_its_address_is_named_without_it(machine: Machine) -> None:
    machine.configure(f"registry: {{urls: ['http://127.0.0.1:1/{SECRET}/token/a1B2c3D4e5F6g7H8']}}\nmaxRetries: 0\n")
    for command in (("sync",), ("search", "x", "--live"), ("sync", "--json")):
        ran = machine.run("registry", *command)
        assert ran.code != 0
        assert "a1B2c3D4e5F6g7H8" not in ran.out + ran.err


def test_the_audit_log_holds_no_key_whatever_it_came_in_as(machine: Machine) -> None:
    machine.workshop("friendly")
    arguments = json.dumps({GITHUB_KEY: 1, f"{'x' * 110}{GITHUB_KEY}": 2})
    machine.run("execute", "friendly", "ping", "--args", arguments)
    machine.run("execute", "friendly", GITHUB_KEY)
    log = machine.paths.audit_log.read_text()
    assert len(log.splitlines()) == 2
    assert "ghp_" not in log


async def test_a_program_sees_the_configuration_of_a_server_without_its_secrets(machine: Machine) -> None:
    entry = {
        "command": "npx",
        "args": ["-y", "server-postgres", f"postgresql://me:{SECRET}@db.example.com/x"],
        "env": {"NOTES_TOKEN": SECRET, "OTHER": "${OTHER}"},
        "timeout": 7,
        "denyTools": ["drop_*"],
    }
    far = {"url": f"https://example.com/mcp?key={SECRET}", "headers": {"Authorization": f"Bearer {SECRET}"}}
    machine.configure(json.dumps({"servers": {"pg": entry, "far": far}}))
    async with open_gateway(read_due=False) as gateway:
        first, second = await gateway.list_servers()
    assert first.configuration == {
        "command": "npx",
        "args": ["-y", "server-postgres", "postgresql://***@db.example.com/x"],
        "env": {"NOTES_TOKEN": "***", "OTHER": "${OTHER}"},
        "timeout": 7,
        "denyTools": ["drop_*"],
    }
    assert second.configuration == {
        "url": "https://example.com/mcp?key=***",
        "headers": {"Authorization": "Bearer ***"},
    }
    assert SECRET not in repr([first, second])
