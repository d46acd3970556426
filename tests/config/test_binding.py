"""Which process of a launch a client means: entries bound to where the client stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolcrib.config.binding import bound
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.site import Site

GITHUB = StdioLaunch("npx", ("-y", "@modelcontextprotocol/server-github"), {"TOKEN": "${GITHUB_TOKEN}"})


def instance(launch: Any, env: dict[str, str] | None = None, folder: str | None = "/work/a", **more: Any) -> str:
    """Which process of a launch a client with these variables in this folder means."""
    [spec] = bound(
        [ServerSpec("one", launch, **more)], Site({"HOME": "/home/me", "PATH": "/nowhere", **(env or {})}, folder)
    )
    return spec.instance


def program(folder: Path, name: str = "server") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def test_equal_values_are_the_same_process_whatever_else_a_client_has_in_its_environment() -> None:
    assert instance(GITHUB, {"GITHUB_TOKEN": "a", "TERM": "xterm"}) == instance(GITHUB, {"GITHUB_TOKEN": "a", "X": "1"})


@pytest.mark.parametrize(
    ("launch", "name"),
    [
        (GITHUB, "GITHUB_TOKEN"),
        (StdioLaunch("server", ("${env:NAME}",)), "NAME"),
        (StdioLaunch("server", ("${NAME:-usual}",)), "NAME"),
        (StdioLaunch("server", pass_env=("NAME",)), "NAME"),
        (StdioLaunch("server", cwd="${NAME}/data"), "NAME"),
        (StdioLaunch("~/bin/server"), "HOME"),
        (StdioLaunch("server"), "HTTPS_PROXY"),
        (RemoteLaunch("https://${NAME}/mcp"), "NAME"),
        (RemoteLaunch("https://x.example/mcp", {"X-Key": "${NAME}"}), "NAME"),
        (RemoteLaunch("https://x.example/mcp"), "ONE_MCP_TOKEN"),
        (RemoteLaunch("https://x.example/mcp"), "MCP_AUTH_TOKEN"),
        (RemoteLaunch("https://x.example/mcp", {"X-Key": "${file:~/key}"}), "HOME"),
    ],
)
def test_another_value_of_a_variable_that_reaches_the_server_is_another_process(launch: Any, name: str) -> None:
    assert len({instance(launch, {name: value}) for value in ("a", "b")} | {instance(launch)}) == 3


def test_a_token_that_the_entry_has_no_use_for_makes_no_difference() -> None:
    signed = RemoteLaunch("https://x.example/mcp", {"Authorization": "Bearer ${NAME}"})

    assert instance(signed, {"MCP_AUTH_TOKEN": "a"}) == instance(signed, {"MCP_AUTH_TOKEN": "b"})


def test_the_program_counts_as_it_is_found_by_each_client(tmp_path: Path) -> None:
    first, second = program(tmp_path / "first"), program(tmp_path / "second")
    one = instance(StdioLaunch("server"), {"PATH": f"/nowhere:{first.parent}"})

    assert one == instance(StdioLaunch("server"), {"PATH": f"{first.parent}:{second.parent}"})
    assert one != instance(StdioLaunch("server"), {"PATH": f"{second.parent}:{first.parent}"})


def test_a_relative_place_on_the_path_is_meant_from_the_folder_of_the_client(tmp_path: Path) -> None:
    program(tmp_path / "a" / "bin", "npx")
    env = {"PATH": "bin"}
    here, there = (instance(GITHUB, env, str(tmp_path / name)) for name in ("a", "b"))

    assert here != there


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]),
        ("npx", ["-y", "some-unknown-server"]),
        ("uvx", ["mcp-server-git"]),
        ("uv", ["run", "mcp-server-time"]),
        ("python", ["-m", "my_server"]),
        ("./server", []),
        ("docker", ["run", "-i", "--rm", "-v", "./data:/data", "mcp/github"]),
        ("docker", ["run", "-i", "--rm", "--mount", "type=bind,src=.,dst=/data", "mcp/github"]),
        ("docker", ["run", "-i", "--rm", "--env-file", "settings.env", "mcp/github"]),
        ("docker", ["compose", "run", "server"]),
        ("mcp-proxy", ["some-command"]),
        ("npx", ["@modelcontextprotocol/server-memory", "--file=./memory.json"]),
        ("sh", ["-c", "cd . && npx @modelcontextprotocol/server-github"]),
    ],
)
def test_in_another_folder_a_server_is_another_process(command: str, args: list[str]) -> None:
    launch = StdioLaunch(command, tuple(args))

    assert instance(launch, folder="/work/a") != instance(launch, folder="/work/b")
    assert instance(launch, folder="/work/a") == instance(launch, folder="/work/a")


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("npx", ["-y", "@modelcontextprotocol/server-github@2025.4.8"]),
        ("/usr/local/bin/npx", ["--yes", "--package=@notionhq/notion-mcp-server", "notion-mcp-server"]),
        ("cmd", ["/c", "npx", "-y", "@upstash/context7-mcp@latest"]),
        ("bunx", ["@stripe/mcp", "--tools=all"]),
        ("pnpm", ["dlx", "@sentry/mcp-server"]),
        ("uvx", ["--from", "mcp-server-fetch==2025.1.1", "mcp-server-fetch"]),
        ("uv", ["tool", "run", "mcp_server_time"]),
        ("pipx", ["run", "mcp-server-time"]),
        ("python3.12", ["-m", "mcp_server_time"]),
        ("node", ["/opt/node_modules/@modelcontextprotocol/server-slack/dist/index.js"]),
        ("docker", ["run", "-i", "--rm", "-e", "TOKEN", "-v", "/srv/data:/data", "ghcr.io/any/server:1"]),
        ("docker", ["exec", "-i", "container", "server"]),
        ("npx", ["-y", "mcp-remote", "https://x.example/sse"]),
        ("mcp-proxy", ["https://x.example/sse"]),
    ],
)
def test_a_server_that_does_not_look_at_its_folder_is_one_process_for_all_folders(
    command: str, args: list[str]
) -> None:
    launch = StdioLaunch(command, tuple(args))

    assert instance(launch, folder="/work/a") == instance(launch, folder="/work/b")


def test_an_entry_with_a_folder_of_its_own_is_one_process_for_all_folders() -> None:
    launch = StdioLaunch("server", cwd="/srv")

    assert instance(launch, folder="/work/a") == instance(launch, folder="/work/b")


def test_a_server_that_does_not_mind_runs_at_home(tmp_path: Path) -> None:
    site = Site({"HOME": str(tmp_path)}, "/work/a")
    minds, does_not = bound([ServerSpec("one", StdioLaunch("server")), ServerSpec("two", GITHUB)], site)

    assert minds.site is not None
    assert does_not.site is not None
    assert (minds.site.folder, does_not.site.folder) == ("/work/a", str(tmp_path))


def test_nothing_that_is_shown_or_compared_holds_a_value_of_the_client() -> None:
    spec = ServerSpec("one", GITHUB)
    [mine] = bound([spec], Site({"GITHUB_TOKEN": "s3cret-value"}, "/work/a"))

    assert mine == spec
    assert mine.launch_key == spec.launch_key
    assert "s3cret-value" not in repr(mine) + repr(mine.site)
