"""What `adopt` shows of entries: what moves where, and none of their secrets."""

from __future__ import annotations

import json

import pytest

SECRET = "pl4in-lily-0f-the-valley"
NOTION = {
    "command": "npx",
    "args": ["-y", "@notionhq/notion-mcp-server"],
    "env": {"OPENAPI_MCP_HEADERS": f'{{"Authorization": "Bearer {SECRET}", "Notion-Version": "2022-06-28"}}'},
}
ENTRIES = {
    "notion": NOTION,
    "postgres": {"command": "npx", "args": ["-y", "server-postgres", f"postgresql://me:{SECRET}@db.example.com/x"]},
    "zapier": {"url": "https://mcp.zapier.com/api/mcp/s/NTRkOWQxYzItZjA4OS00YzQ0/mcp"},
    "query": {"url": f"https://mcp.example.com/mcp?anything={SECRET}"},
    "docker": {"command": "docker", "args": ["run", "-e", f"GRAFANA_API_KEY={SECRET}", "grafana/mcp"]},
    "default": {"command": "x", "env": {"A_TOKEN": f"${{A_TOKEN:-{SECRET}}}"}},
    "dollar": {"command": "x", "env": {"PASSWORD": f"${SECRET}"}},
    "odd": {"command": 7, "args": [f"--token={SECRET}"]},
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_plan_shows_no_secret_in_words_or_in_json(home, capsys, name):
    file = home.give("cursor", json.dumps({"mcpServers": {name: ENTRIES[name]}}, indent=2).encode())
    for words in (
        ["adopt", "--dry-run", "--diff"],
        ["adopt", "--dry-run", "--json"],
        ["adopt", "cursor", "--dry-run", "--json"],
    ):
        home.run(*words)
        shown = "".join(capsys.readouterr())
        assert name in shown
        assert SECRET not in shown
        assert "NTRkOWQx" not in shown
    assert SECRET.encode() in file.read_bytes() or name == "zapier"


def test_a_secret_in_a_comment_is_not_shown_either(home, capsys):
    home.give(
        "cursor",
        b'{"mcpServers": {"x": {\n  // "GITHUB_TOKEN": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"\n  "command": "x"}}}',
    )
    home.run("adopt", "--dry-run", "--diff")
    shown = "".join(capsys.readouterr())
    assert "GITHUB_TOKEN" in shown
    assert "ghp_" not in shown


def test_what_is_no_secret_can_be_read_in_the_plan(home, capsys):
    home.give("cursor", json.dumps({"mcpServers": {"notion": NOTION}}, indent=2).encode())
    home.run("adopt", "--dry-run", "--diff")
    shown = capsys.readouterr().out
    assert "@notionhq/notion-mcp-server" in shown
    assert "OPENAPI_MCP_HEADERS" in shown
