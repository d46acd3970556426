"""Entries as they are shown: no secret of theirs, and everything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.masking.entries import masked_entry

SECRETS = ["s3cr3tPart", "aB3dE5gH7jK9mN1pQ2rS"]
PLACES = [
    {"args": ["server", "postgresql://me:{secret}@db.example.com/x"]},
    {"args": ["--api-key", "{secret}"]},
    {"args": ["--token={secret}", "-v"]},
    {"args": ["-e", "NOTES_TOKEN={secret}"]},
    {"args": ["--header", "Authorization: Bearer {secret}"]},
    {"args": ["--header", "X-Api-Key:{secret}"]},
    {"args": ["run", {"password": "{secret}"}]},
    {"command": ["npx", "x", "--password", "{secret}"]},
    {"command": "npx x --password {secret}"},
    {"env": {"ANYTHING": "{secret}"}},
    {"env": {"OPENAPI_MCP_HEADERS": '{"Authorization": "Bearer {secret}", "Notion-Version": "2022-06-28"}'}},
    {"env": ["ANYTHING={secret}"]},
    {"env": {"A": "${A:-{secret}}"}},
    {"environment": {"A": "$s{secret}"}},
    {"headers": {"Authorization": "Bearer {secret}"}},
    {"url": "https://me:{secret}@example.com/mcp"},
    {"url": "https://example.com/mcp?anything={secret}"},
    {"url": "https://example.com/mcp?{secret}"},
    {"url": "https://example.com/mcp#{secret}"},
    {"url": "https://example.com/token/{secret}/mcp"},
    {"oauth": {"clientSecret": "{secret}"}},
    {"bearerToken": "{secret}"},
    {"apiKey": ["{secret}"]},
    {"connection": {"type": "stdio", "command": "x", "args": ["--pw", "{secret}"]}},
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("entry", PLACES)
def test_no_place_in_an_entry_shows_its_secret(entry, secret):
    filled = json.loads(json.dumps(entry).replace("{secret}", secret))
    shown = json.dumps(masked_entry(filled))
    assert secret not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    "path",
    [
        "s/NTRkOWQxYzItZjA4OS00YzQ0/mcp",
        "0123456789abcdef0123456789abcdef/mcp",
        "550e8400-e29b-41d4-a716-446655440000/mcp",
        "bot123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/getMe",
    ],
)
def test_a_key_in_the_path_of_an_address_is_not_shown(path):
    shown = masked_entry({"url": f"https://mcp.example.com/{path}"})["url"]
    assert shown.startswith("https://mcp.example.com/")
    assert "***" in shown
    assert max(path.split("/"), key=len) not in shown


COMMIT = "3f786850e387550fdab836ed7e6dc881de23001b"
UUID = "550e8400-e29b-41d4-a716-446655440000"
READABLE = [
    {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2025.11.25", "/home/me/my-project-2"]},
    {"command": "uvx", "args": ["--from", f"git+https://github.com/o/r@{COMMIT}", "srv"]},
    {"command": "docker", "args": ["run", "-i", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server:v0.20.1"]},
    {"command": "x", "args": ["--rev", COMMIT, UUID]},
    {"url": "https://api.example.com/v1.2/teams/platform-engineering/mcp", "timeout": 30, "disabled": False},
    {"env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "A": "${env:A}", "B": "{env:B}"}, "headers": {"X": "Bearer ${X}"}},
    {"url": "https://api.example.com/mcp?api_key=${KEY}"},
    {"command": "python", "args": ["-m", "my_package.mcp_server_2", "--max-tokens", "4096", "--keyboard", "us"]},
]


@pytest.mark.parametrize("entry", READABLE)
def test_the_rest_of_an_entry_stays_readable(entry):
    assert masked_entry(entry) == entry


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=30),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    )
)
def test_an_entry_of_any_shape_is_shown_and_showing_it_twice_changes_nothing(value):
    once = masked_entry(value)
    assert masked_entry(once) == once
