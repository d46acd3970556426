from __future__ import annotations

import json

import pytest

from tests.config.conftest import write
from tests.resolving import resolve_launch
from toolcrib.config.settings import SourceState
from toolcrib.errors import NeedsConfiguration
from toolcrib.model.server import RemoteLaunch

NOTES = {"command": "npx", "args": ["-y", "notes-mcp"]}


def put(machine, place, entries, key="mcpServers"):
    return write(machine.home / place, json.dumps({key: entries}))


def names_by_client(settings):
    return [(spec.name, spec.origin.source) for spec in settings.servers]


def test_one_server_in_five_clients_is_one_and_its_namesake_stays(machine):
    put(
        machine,
        ".config/Claude/claude_desktop_config.json",
        {"notes": {"command": "cmd", "args": ["/c", "npx", "notes-mcp"]}},
    )
    put(machine, ".cursor/mcp.json", {"my-notes": NOTES, "db": {"command": "db-one"}})
    put(machine, ".config/Code/User/mcp.json", {"notes": {"type": "stdio", **NOTES}}, key="servers")
    put(machine, ".config/zed/settings.json", {"notes": NOTES, "db": {"command": "db-two"}}, key="context_servers")
    write(machine.home / ".codex/config.toml", '[mcp_servers.notes]\ncommand = "/usr/bin/npx"\nargs = ["notes-mcp"]\n')
    settings = machine.load()
    assert names_by_client(settings) == [("notes", "claude-desktop"), ("db", "cursor"), ("db-zed", "zed")]
    assert settings.problems == settings.warnings == ()


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "uvx", "args": ["toolcrib", "serve"]},
        {"command": "cmd", "args": ["/c", "toolcrib.exe"]},
        {"command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8665/mcp", "--header", "X-A: b"]},
        {"url": "http://localhost:8665/mcp/"},
    ],
)
def test_the_gateway_is_recognised_however_a_client_reaches_it(machine, entry):
    put(machine, ".cursor/mcp.json", {"counter": entry})
    settings = machine.load()
    assert settings.servers == ()
    assert not settings.warnings


def test_what_only_the_client_has_is_named_when_the_server_is_started(machine):
    entry = {"command": "bank-mcp", "cwd": "${workspaceFolder}", "env": {"PIN": "${input:pin}", "R": "${env:REGION}"}}
    put(machine, ".config/Code/User/mcp.json", {"bank": entry}, key="servers")
    spec = machine.load().servers[0]
    with pytest.raises(NeedsConfiguration, match="needs input:pin, REGION, workspaceFolder"):
        resolve_launch(spec.launch, {}, server=spec.name)


def test_a_dollar_of_a_client_without_references_reaches_the_server_unchanged(machine):
    password = "pa$$w${ORD}$"
    put(machine, ".warp/.mcp.json", {"vault": {"command": "vault-mcp", "args": [password], "env": {"P": password}}})
    launch = resolve_launch(machine.load().servers[0].launch, {"ORD": "wrong"}, server="vault")
    assert (launch.args, launch.env) == ((password,), {"P": password})


def test_an_entry_of_our_own_keeps_its_bridge_and_wins_over_the_imported_one(machine):
    bridge = {"command": "npx", "args": ["mcp-remote", "https://plan.example.com/mcp"]}
    put(machine, ".cursor/mcp.json", {"plan": bridge})
    ours = machine.load_data({"sources": ["cursor"], "servers": {"plan": bridge}}).servers
    assert [spec.launch.command for spec in ours] == ["npx"]
    assert [type(spec.launch) for spec in machine.load().servers] == [RemoteLaunch]


def test_a_file_of_a_project_is_read_in_a_clients_way_only_when_it_is_trusted(machine):
    write(machine.cwd / "toolcrib.yaml", "sources: [{type: docker-mcp, path: ./registry.yaml}]")
    registry = write(machine.cwd / "registry.yaml", "registry: {one: {ref: ''}}")
    catalog = write(machine.cwd / "catalogs/c.yaml", "registry: {one: {image: example/one}}")
    for file in (machine.cwd / "toolcrib.yaml", registry):
        machine.trusted.trust(file)
        assert machine.load().servers == ()
    assert any(str(catalog) in warning for warning in machine.load().warnings)
    machine.trusted.trust(catalog)
    assert [spec.name for spec in machine.load().servers] == ["one"]


def test_further_files_of_a_client_that_hold_no_servers_are_not_mentioned(machine):
    write(machine.home / ".config/Code/User/settings.json", '{"editor.fontSize": 12}')
    settings = machine.load_data({"sources": ["vscode"]})
    usual = machine.home / ".config/Code/User/mcp.json"
    assert settings.source_states == (SourceState("vscode", str(usual), "missing"),)
    assert machine.home / ".config/Code/User/settings.json" in settings.watched_files
