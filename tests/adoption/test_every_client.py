"""Real-looking files of every client: moved in, and given back byte for byte."""

from __future__ import annotations

import pytest

from toolcrib.clients.table import CLIENTS
from toolcrib.config.documents import parse_document
from toolcrib.config.load import load_settings
from toolcrib.edit.changes import look_up

PLAIN = b'{\n  "mcpServers": {\n    "lint": {"command": "lint-mcp", "args": ["--stdio"], "env": {"L": "1"}}\n  }\n}\n'
PLAIN_CLIENTS = (
    "claude-desktop cursor windsurf cline roo antigravity junie jetbrains lm-studio kiro warp amazon-q".split()
)
FILES = {
    **dict.fromkeys(PLAIN_CLIENTS, PLAIN),
    "gemini": b'{"theme": "x", "mcpServers": {"lint": {"command": "lint-mcp", "timeout": 5000}}, "mcp": {"allowed": ["lint"]}}',
    "qwen": b'{"$version": 4, "mcpServers": {"lint": {"command": "lint-mcp", "trust": true}}, "mcp": {"allowed": ["lint"]}}',
    "vscode": b'{\n\t// mine\n\t"servers": {"lint": {"type": "stdio", "command": "lint-mcp"}},\n}\n',
    "copilot-jetbrains": b'{"servers": {"lint": {"type": "stdio", "command": "lint-mcp"}}}',
    "copilot-cli": b'{"mcpServers": {"lint": {"type": "local", "command": "lint-mcp", "args": [], "tools": ["*"]}}}',
    "zed": b'// Zed settings\n{\n  "vim_mode": true, // yes\n  "context_servers": {\n    "lint": {"command": "lint-mcp", "enabled": true},\n  },\n}\n',
    "continue": b"name: mine # assistant\nversion: 1.0.0\nmcpServers:\n  # linting\n  - name: lint\n    command: lint-mcp\nmodels: []\n",
    "goose": b"GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    name: developer\n    enabled: true\n  lint:\n    type: stdio\n    name: lint\n    cmd: lint-mcp\n    args: []\n    envs: {}\n    enabled: true # on\n    timeout: 300\n# end\n",
    "codex": b'model = "x"\n\n[mcp_servers.lint]\ncommand = "lint-mcp" # lints\n\n[profiles.a]\nmodel = "y"\n',
    "opencode": b'{\n  "$schema": "x",\n  "mcp": {\n    "lint": {"type": "local", "command": ["lint-mcp", "--stdio"], "enabled": true}\n  }\n}\n',
    "crush": b'{"lsp": {}, "mcp": {"lint": {"type": "stdio", "command": "lint-mcp"}}}',
}


def test_there_is_a_file_for_every_client_that_can_be_written():
    assert {name for name, client in CLIENTS.items() if not client.has_program} <= set(FILES)


@pytest.mark.parametrize("name", [name for name in FILES if name in CLIENTS])
def test_the_server_of_each_client_moves_and_comes_back(home, name):
    file = home.give(name, FILES[name])
    assert home.run("adopt", name, "--yes") == 0
    client = CLIENTS[name]
    entries = look_up(parse_document(file.read_bytes(), file), client.containers[0])
    names = [entry["name"] for entry in entries] if client.is_list else list(entries)
    assert "toolcrib" in names
    assert "lint" not in names
    if client.allowed:
        assert "toolcrib" in look_up(parse_document(file.read_bytes(), file), client.allowed)
    (spec,) = [spec for spec in load_settings().servers if spec.origin.source == "toolcrib"]
    assert (spec.name, spec.launch.command, spec.enabled) == ("lint", "lint-mcp", True)
    assert home.run("release", name, "--yes") == 0
    assert file.read_bytes() == FILES[name]


@pytest.mark.parametrize("name", [name for name in FILES if name in CLIENTS])
def test_after_other_changes_the_server_is_merged_back_as_it_was(home, name, capsys):
    file = home.give(name, FILES[name])
    before = parse_document(FILES[name], file)
    assert home.run("adopt", name, "--yes") == 0
    comment = b"\n# later\n" if CLIENTS[name].language != "json" else b"\n// later\n"
    file.write_bytes(file.read_bytes() + comment)
    answer = home.answer(capsys, "release", name, "--yes")
    assert answer["clients"][0]["how"] == "merged"
    assert file.read_bytes().endswith(comment)
    assert parse_document(file.read_bytes(), file) == before
