"""What servers take from the environment: handed on by our entry, or said to be missing."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from tests.resolving import resolve_launch
from toolcrib.adoption.own_launch import own_launch
from toolcrib.clients.table import CLIENTS
from toolcrib.config.documents import parse_document
from toolcrib.config.secret_refs import child_environment
from toolcrib.edit.changes import look_up
from toolcrib.errors import NeedsConfiguration
from toolcrib.model.server import StdioLaunch

CODEX = b"""
[mcp_servers.crm]
url = "https://crm.example.com/mcp"
bearer_token_env_var = "CRM_TOKEN"

[mcp_servers.wiki]
url = "https://wiki.example.com/mcp"
[mcp_servers.wiki.env_http_headers]
X-Key = "WIKI_KEY"

[mcp_servers.notes]
command = "notes"
env_vars = ["NOTES_DIR", "HOME"]
"""


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in [name for name in os.environ if name.upper().endswith("_PROXY") or name.startswith("SSL_CERT")]:
        monkeypatch.delenv(name)


def entry_of_ours(home, client: str) -> dict:
    file = home.file(client)
    entries = look_up(parse_document(file.read_bytes(), file), CLIENTS[client].containers[0])
    return entries["toolcrib"]


def test_what_codex_reads_from_its_environment_is_named_in_our_entry_and_in_the_plan(home, capsys):
    file = home.give("codex", CODEX)
    answer = home.answer(capsys, "adopt", "--yes")
    assert answer["clients"][0]["handsOn"] == ["CRM_TOKEN", "WIKI_KEY", "NOTES_DIR"]
    ours = tomllib.loads(file.read_text("utf-8"))["mcp_servers"]["toolcrib"]
    assert ours["env_vars"] == ["CRM_TOKEN", "WIKI_KEY", "NOTES_DIR"]
    assert home.run("release", "--yes") == 0
    assert file.read_bytes() == CODEX
    assert home.run("adopt", "--dry-run") == 0
    assert "hands on to Toolcrib, from its own environment: CRM_TOKEN, WIKI_KEY, NOTES_DIR" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("client", "reference"),
    [
        ("gemini", "$CRM_TOKEN"),
        ("cursor", "${env:CRM_TOKEN}"),
        ("kiro", "${CRM_TOKEN}"),
        ("amazon-q", "${env:CRM_TOKEN}"),
    ],
)
def test_a_client_with_references_of_its_own_hands_on_what_any_server_behind_the_counter_needs(home, client, reference):
    home.give("codex", CODEX)
    home.give(client, b'{"mcpServers": {"lint": {"command": "lint"}}}')
    assert home.run("adopt", "--yes") == 0
    env = entry_of_ours(home, client)["env"]
    assert (env["CRM_TOKEN"], env["TOOLCRIB_HOME"]) == (reference, os.environ["TOOLCRIB_HOME"])


@pytest.mark.parametrize("client", ["opencode", "crush", "zed", "copilot-cli"])
def test_a_client_that_hands_on_everything_is_asked_for_nothing(home, client):
    home.give("codex", CODEX)
    assert home.run("adopt", "--yes") == 0
    assert home.run("connect", client) == 0
    assert "CRM_TOKEN" not in json.dumps(entry_of_ours(home, client))


def test_what_a_client_cannot_hand_on_is_said_before_anything_is_written(home, capsys):
    notes = {"command": "notes", "env": {"NOTES_TOKEN": "${NOTES_TOKEN}", "DIR": "${HOME}/n"}}
    home.give("claude-desktop", json.dumps({"mcpServers": {"notes": notes}}).encode())
    answer = home.answer(capsys, "adopt", "--dry-run")
    assert answer["clients"][0]["lacking"] == [{"name": "notes", "variables": ["NOTES_TOKEN"]}]
    assert home.run("adopt", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "notes needs NOTES_TOKEN, which Claude Desktop does not hand on" in shown
    assert "--keep notes" in shown


def test_servers_that_are_adopted_later_bring_their_variables_into_entries_that_are_there_already(home):
    first = b'[mcp_servers.notes]\ncommand = "notes"\nenv_vars = ["NOTES_DIR"]\n'
    file = home.give("codex", first)
    gemini = home.give("gemini", b'{"mcpServers": {"lint": {"command": "lint"}}}')
    before = gemini.read_bytes()
    assert home.run("adopt", "--yes") == 0
    file.write_bytes(
        file.read_bytes() + b'\n[mcp_servers.crm]\nurl = "https://x.example/mcp"\nbearer_token_env_var = "T"\n'
    )
    assert home.run("adopt", "--yes") == 0
    assert entry_of_ours(home, "codex")["env_vars"] == ["NOTES_DIR", "T"]
    assert entry_of_ours(home, "gemini")["env"]["T"] == "$T"
    assert home.run("release", "--yes") == 0
    assert gemini.read_bytes() == before
    assert set(tomllib.loads(file.read_text("utf-8"))["mcp_servers"]) == {"notes", "crm"}


def test_an_entry_for_us_that_somebody_else_wrote_is_left_as_it_is(home):
    home.give("codex", CODEX)
    file = home.give("gemini", b'{"mcpServers": {"toolcrib": {"command": "/opt/bin/toolcrib"}}}')
    before = file.read_bytes()
    assert home.run("adopt", "--yes") == 0
    assert file.read_bytes() == before


def test_codex_is_asked_to_hand_on_the_proxy_that_remote_servers_need(home, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    home.give("codex", CODEX)
    assert home.run("adopt", "--yes") == 0
    assert entry_of_ours(home, "codex")["env_vars"][-1] == "HTTPS_PROXY"


@pytest.mark.parametrize("text", ["$T", "${T}", "${env:T}"])
def test_a_reference_that_a_client_could_not_fill_is_no_value(text):
    launch = StdioLaunch("x", env={"TOKEN": "${T}"}, pass_env=("T",))
    with pytest.raises(NeedsConfiguration, match="needs T"):
        resolve_launch(launch, {"T": text}, server="s")
    assert child_environment(StdioLaunch("x", pass_env=("T",)), {"T": text}, server="s") == {}


def test_folders_that_were_moved_are_written_down_for_programs_that_have_no_shell(tmp_path):
    launch = own_launch({"XDG_STATE_HOME": str(tmp_path), "XDG_DATA_HOME": "/d"}, None)
    assert launch.env == {"XDG_STATE_HOME": str(tmp_path)}
