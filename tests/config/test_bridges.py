from __future__ import annotations

import pytest

from toolcrib.config.bridges import without_bridges
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch

URL = "https://a.example/mcp"


def unwrapped(*words, **env):
    return without_bridges(ServerSpec("a", StdioLaunch(words[0], words[1:], env))).launch


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "mcp-remote", URL),
        ("npx", "-y", "mcp-remote@latest", URL),
        ("/usr/local/bin/npx", "--yes", "mcp-remote@0.1.2", URL, "--allow-http", "--debug"),
        ("cmd", "/c", "npx", "-y", "mcp-remote", URL),
        ("C:\\Program Files\\nodejs\\npx.cmd", "mcp-remote", URL),
        ("bunx", "mcp-remote", URL),
        ("pnpm", "dlx", "mcp-remote", URL),
        ("npm", "exec", "--", "mcp-remote", URL),
        ("/opt/bin/mcp-remote", URL),
        ("npx", "mcp-remote", URL, "--transport", "http-first"),
        ("npx", "mcp-remote", URL, "9696", "--auth-timeout", "60"),
    ],
)
def test_a_bridge_becomes_the_address_it_leads_to(words):
    assert unwrapped(*words) == RemoteLaunch(URL)


@pytest.mark.parametrize(
    ("header", "env", "value"),
    [
        ("Authorization: Bearer abc", {}, "Bearer abc"),
        ("Authorization:${AUTH}", {"AUTH": "Bearer abc"}, "Bearer abc"),
        ("Authorization:Bearer ${T}", {"T": "${REAL}"}, "Bearer ${REAL}"),
        ("Authorization:Bearer ${OUTSIDE}", {}, "Bearer ${OUTSIDE}"),
        # As a client without references has it: the bridge itself fills it.
        ("Authorization:${$}{AUTH}", {"AUTH": "Bearer abc"}, "Bearer abc"),
    ],
)
def test_headers_come_along_filled_from_the_entrys_variables(header, env, value):
    launch = unwrapped("npx", "mcp-remote", URL, "--header", header, **env)
    assert launch == RemoteLaunch(URL, {"Authorization": value})


@pytest.mark.parametrize(
    ("words", "transport"),
    [
        ((f"{URL[:-4]}/sse",), "sse"),
        ((URL, "--transport", "sse-only"), "sse"),
        ((URL, "--transport", "http-only"), "http"),
    ],
)
def test_the_transport_is_the_one_stated_or_the_one_the_address_speaks_for(words, transport):
    assert unwrapped("npx", "mcp-remote", *words).transport == transport


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "-y", "other-mcp", URL),
        ("npx", "mcp-remote"),
        ("npx", "mcp-remote", "not an address"),
        ("npx", "mcp-remote", URL, "--auth-timeout"),
        ("npx", "mcp-remote", URL, "--resource", "https://other.example"),
        ("npx", "mcp-remote", URL, "--static-oauth-client-info", "{}"),
        ("npx", "mcp-remote", URL, "--ignore-tool", "delete*"),
        ("npx", "mcp-remote", URL, "--transport", "carrier-pigeon"),
        ("npx", "mcp-remote", URL, "--header", "no colon"),
        ("npx", "mcp-remote", URL, "--header"),
        ("pnpm", "run", "mcp-remote", URL),
        ("python", "mcp-remote", URL),
    ],
)
def test_what_we_could_not_do_the_same_way_stays_a_bridge(words):
    assert unwrapped(*words) == StdioLaunch(words[0], words[1:])


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("cmd", "/c", "npx", "-y", "x"), ("npx", "-y", "x")),
        (("CMD.EXE", "/C", "uvx x --a"), ("uvx", "x", "--a")),
        (("cmd", "/c", '"C:\\a b\\x.exe" y'), ('"C:\\a b\\x.exe" y',)),
        (("cmd", "/k", "npx", "x"), ("cmd", "/k", "npx", "x")),
        (("cmd", "/c"), ("cmd", "/c")),
    ],
)
def test_the_shell_of_windows_is_dropped(words, kept):
    assert unwrapped(*words) == StdioLaunch(kept[0], kept[1:])


def test_an_address_is_left_as_it_is():
    spec = ServerSpec("a", RemoteLaunch(URL))
    assert without_bridges(spec) == spec
