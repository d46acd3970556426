"""Which servers each session has for itself, told by their entries and by what they run."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.config.package_names import package_names
from toolcrib.config.sharing import is_private
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch


def spec(*words: str, **more: Any) -> ServerSpec:
    return ServerSpec(more.pop("name", "one"), StdioLaunch(words[0], tuple(words[1:])), **more)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("npx", "-y", "@playwright/mcp@latest", "--headless"), "@playwright/mcp"),
        (("npx.cmd", "--yes", "--package=@acme/tool@1.2", "tool"), "@acme/tool"),
        (("npx", "-p", "@acme/tool", "-c", "tool"), "@acme/tool"),
        (("npm", "exec", "--", "some-server@^2"), "some-server"),
        (("pnpm", "dlx", "some-server"), "some-server"),
        (("yarn", "dlx", "-q", "some-server"), "some-server"),
        (("bun", "x", "some-server"), "some-server"),
        (("bunx", "--bun", "some-server"), "some-server"),
        (("uvx", "Some_Server==1.0"), "some-server"),
        (("uvx", "--python", "3.12", "some-server[extra]@latest"), "some-server"),
        (("uvx", "--from", "git+https://git.example/acme/Serena.git", "serena", "start"), "serena"),
        (("uv", "tool", "run", "--with", "other", "some-server"), "some-server"),
        (("uv", "--directory", "/srv/x", "run", "some-server"), "some-server"),
        (("pipx", "run", "--spec", "some-server>=2", "binary"), "some-server"),
        (("docker", "run", "-i", "--rm", "-e", "KEY", "--name=x", "mcp/playwright:1.2"), "mcp/playwright"),
        (("podman", "run", "-it", "-p", "1:1", "registry.example:5000/acme/shell@sha256:ab"), "acme/shell"),
        (("docker", "container", "run", "--init", "alone", "--flag"), "alone"),
        (("node", "/x/node_modules/@acme/tool/dist/index.js"), "@acme/tool"),
        (("node", "--no-warnings", "C:\\x\\node_modules\\tool\\index.js"), "tool"),
        (("deno", "run", "-A", "npm:@acme/tool@1"), "@acme/tool"),
        (("/usr/bin/python3.12", "-u", "-m", "jupyter_mcp_server"), "jupyter-mcp-server"),
        (("/home/me/.local/bin/Some-Server",), "some-server"),
        (("/x/node_modules/.bin/mcp-server-puppeteer",), "mcp-server-puppeteer"),
        (("env", "DEBUG=1", "npx", "some-server"), "some-server"),
        (("sh", "-c", "cd /srv && exec npx -y some-server"), "some-server"),
        (("cmd", "/c", "npx", "-y", "some-server"), "some-server"),
    ],
)
def test_the_package_is_recognised_however_it_is_run(words: tuple[str, ...], name: str) -> None:
    assert name in package_names(spec(*words).launch)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        ("npm", "run", "start"),
        ("bun", "server.ts"),
        ("docker", "compose", "up"),
        ("docker",),
        ("python", "server.py"),
        ("node",),
        ("npx",),
        ("uv", "sync"),
    ],
)
def test_a_command_that_names_no_package_gives_none(words: tuple[str, ...]) -> None:
    assert package_names(spec(*words).launch) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "@playwright/mcp@latest"),
        ("npx", "-y", "@modelcontextprotocol/server-puppeteer"),
        ("npx", "chrome-devtools-mcp@latest"),
        ("npx", "-y", "@modelcontextprotocol/server-sequential-thinking"),
        ("docker", "run", "--rm", "-i", "mcp/sequentialthinking"),
        ("npx", "-y", "@wonderwhy-er/desktop-commander@latest"),
        ("uvx", "mcp-shell-server"),
        ("uvx", "jupyter-mcp-server@latest"),
        ("npx", "@debugmcp/mcp-debugger", "stdio"),
        ("uvx", "--from", "git+https://github.com/oraios/serena", "serena", "start-mcp-server"),
    ],
)
def test_a_server_that_is_known_to_keep_a_session_is_private(words: tuple[str, ...]) -> None:
    assert is_private(spec(*words), ())
    assert not is_private(spec(*words, share="always"), ())


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "-y", "@modelcontextprotocol/server-github"),
        ("npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/playwright"),
        ("uvx", "mcp-server-git"),
        ("my-own-server",),
    ],
)
def test_any_other_server_is_shared_unless_its_entry_says_never(words: tuple[str, ...]) -> None:
    assert not is_private(spec(*words), ())
    assert is_private(spec(*words, share="never"), ())


@pytest.mark.parametrize("pattern", ["repl", "My-Repl*", "@acme/*-session", "acme-*"])
def test_a_person_can_name_more_servers_by_their_name_or_package(pattern: str) -> None:
    servers = [
        spec("uvx", "acme-thing", name="my-repl-2"),
        spec("npx", "@acme/great-session@3", name="other"),
        spec("npx", "@acme/great-session", name="repl"),
    ]

    assert any(is_private(server, [pattern]) for server in servers)
    assert not any(is_private(server, ["something-else"]) for server in servers)


def test_a_remote_server_is_private_only_where_a_person_says_so() -> None:
    remote = RemoteLaunch("https://x.example/mcp")

    assert not is_private(ServerSpec("playwright", remote), ())
    assert is_private(ServerSpec("repl", remote), ["repl"])
    assert is_private(ServerSpec("repl", remote, share="never"), ())
