from __future__ import annotations

import json

import pytest

from tests.config.conftest import write
from toolcrib.config.settings import SourceState
from toolcrib.model.server import DeclaredTool, Origin, ServerSpec, StdioLaunch

ONE = {"mcpServers": {"github": {"command": "npx", "args": ["-y", "gh"], "env": {"T": "${GITHUB_TOKEN}"}}}}
GITHUB = StdioLaunch("npx", ("-y", "gh"), {"T": "${GITHUB_TOKEN}"})


@pytest.mark.parametrize(
    "source_type", ["claude-desktop", "claude-code", "cursor", "windsurf", "docker-mcp", "mcp-json"]
)
def test_every_client_of_the_family_is_imported(machine, source_type):
    file = write(machine.cwd / "client.json", json.dumps(ONE))
    settings = machine.load_data({"sources": [{"type": source_type, "path": str(file)}]})
    assert settings.servers == (ServerSpec("github", GITHUB, origin=Origin(source_type, str(file))),)
    assert settings.source_states == (SourceState(source_type, str(file), "found", 1),)


@pytest.mark.parametrize(
    "document",
    [
        ONE,
        {"servers": ONE["mcpServers"]},
        {"mcp": {"servers": ONE["mcpServers"]}},
        ONE["mcpServers"],
        {**ONE, "projects": {"/p": {"mcpServers": {"other": {"command": "x"}}}}},
    ],
)
def test_the_usual_wrappings_are_understood(machine, document):
    file = write(machine.cwd / "client.json", json.dumps(document))
    settings = machine.load_data({"sources": [{"type": "mcp-json", "path": str(file)}]})
    assert [spec.launch for spec in settings.servers] == [GITHUB]


@pytest.mark.parametrize("text", ["", "{}", '{"history": [1], "theme": "dark"}', '{"mcpServers": {}}'])
def test_a_client_file_without_servers_is_found_and_gives_none(machine, text):
    file = write(machine.home / ".cursor" / "mcp.json", text)
    settings = machine.load_data({"sources": ["cursor"]})
    assert settings.source_states == (SourceState("cursor", str(file), "found", 0),)
    assert settings.problems == ()


def test_timeouts_of_claude_code_are_milliseconds(machine):
    write(
        machine.home / ".claude.json", '{"mcpServers": {"a": {"command": "x", "timeout": 1500}, "b": {"command": "y"}}}'
    )
    settings = machine.load_data({"sources": ["claude-code"]})
    assert [spec.timeout_seconds for spec in settings.servers] == [1.5, None]


def test_a_clients_list_of_tools_declares_nothing(machine):
    write(machine.home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": "x", "tools": ["*"]}}}')
    assert machine.load_data({"sources": ["cursor"]}).servers[0].declared_tools == ()


def test_the_custom_file_declares_tools(machine):
    text = """
servers:
  github:
    name: GitHub MCP Server
    description: GitHub API integration
    connection: {type: stdio, command: npx, args: ['-y', gh]}
    tools:
      - name: create_issue
        description: Create a GitHub issue
      - name: list_repos
"""
    file = write(machine.cwd / "elsewhere" / "more.yaml", text)
    settings = machine.load_data({"sources": [{"type": "custom", "path": "more.yaml"}]})
    assert settings.servers == (
        ServerSpec(
            "github",
            StdioLaunch("npx", ("-y", "gh")),
            title="GitHub MCP Server",
            description="GitHub API integration",
            declared_tools=(DeclaredTool("create_issue", "Create a GitHub issue"), DeclaredTool("list_repos")),
            origin=Origin("custom", str(file)),
        ),
    )


def test_a_missing_source_is_only_a_state(machine):
    settings = machine.load_data({"sources": [{"type": "windsurf", "path": "~/none.json"}]})
    assert settings.source_states == (SourceState("windsurf", str(machine.home / "none.json"), "missing"),)
    assert settings.problems == ()


@pytest.mark.parametrize("text", ["{", "[1]", '{"mcpServers": 5}'])
def test_a_broken_source_costs_itself_alone(machine, text):
    broken = write(machine.home / ".cursor" / "mcp.json", text)
    write(machine.home / ".claude.json", json.dumps(ONE))
    settings = machine.load_data({"sources": ["cursor", "claude-code"]})
    assert [spec.name for spec in settings.servers] == ["github"]
    assert [state.state for state in settings.source_states] == ["broken", "found"]
    assert [problem.source for problem in settings.problems] == [str(broken)]


def test_a_custom_source_of_another_shape_is_broken(machine):
    write(machine.cwd / "elsewhere" / "more.yaml", "- 1")
    assert machine.load_data({"sources": [{"type": "custom", "path": "more.yaml"}]}).source_states[0].state == "broken"


def test_a_bad_entry_of_a_source_is_skipped_with_its_place(machine):
    file = write(
        machine.home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": 5}, "b": {"command": "x"}, "c": 5}}'
    )
    settings = machine.load_data({"sources": ["cursor"]})
    assert [spec.name for spec in settings.servers] == ["b"]
    assert [(problem.source, problem.where) for problem in settings.problems] == [
        (str(file), "mcpServers.a.command"),
        (str(file), "mcpServers.c"),
    ]


def test_the_second_usual_place_is_used_where_the_first_has_nothing(machine):
    file = write(machine.home / ".windsurf" / "mcp.json", json.dumps(ONE))
    assert machine.load_data({"sources": ["windsurf"]}).source_states[0].path == str(file)


@pytest.mark.parametrize("sources", ["auto", ["auto"], [{"type": "auto"}]])
def test_auto_reads_every_client_found(machine, sources):
    write(machine.home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    write(machine.home / ".claude.json", '{"mcpServers": {"b": {"command": "y"}}}')
    assert sorted(spec.name for spec in machine.load_data({"sources": sources}).servers) == ["a", "b"]


@pytest.mark.parametrize(
    ("item", "where"),
    [
        ({"type": "cursr"}, "sources[0].type"),
        ({"path": "x"}, "sources[0].type"),
        ({"type": 5}, "sources[0].type"),
        ({"type": "custom"}, "sources[0].path"),
        ({"type": "cursor", "path": 5}, "sources[0].path"),
        (5, "sources[0].type"),
    ],
)
def test_a_bad_source_item_is_skipped_and_reported(machine, item, where):
    settings = machine.load_data({"sources": [item], "servers": {"a": {"command": "x"}}})
    assert [problem.where for problem in settings.problems] == [where]
    assert len(settings.servers) == 1


def test_configured_servers_win_over_imported_ones(machine):
    write(machine.home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": "theirs"}}}')
    settings = machine.load_data({"sources": ["cursor"], "servers": {"a": {"command": "ours"}}})
    assert [spec.launch for spec in settings.servers] == [StdioLaunch("ours")]
    assert "'a' of cursor" in settings.warnings[0]


def test_the_same_server_in_two_clients_is_one(machine):
    write(machine.home / ".cursor" / "mcp.json", json.dumps(ONE))
    write(machine.home / ".claude.json", json.dumps(ONE))
    settings = machine.load()
    assert [(spec.name, spec.origin.source) for spec in settings.servers] == [("github", "claude-code")]
    assert settings.warnings == ()


def test_different_servers_of_one_name_are_both_kept(machine):
    for index, file in enumerate((".claude.json", ".cursor/mcp.json", ".windsurf/mcp.json")):
        write(machine.home / file, json.dumps({"mcpServers": {"db": {"command": f"db{index}"}}}))
    settings = machine.load()
    assert [(spec.name, spec.title, spec.launch.command) for spec in settings.servers] == [
        ("db", "", "db0"),
        ("db-cursor", "db", "db1"),
        ("db-windsurf", "db", "db2"),
    ]


def test_a_third_server_of_one_name_from_one_kind_of_source_is_numbered(machine):
    sources = []
    for index in range(4):
        file = write(machine.cwd / f"{index}.json", json.dumps({"mcpServers": {"db": {"command": f"db{index % 3}"}}}))
        sources.append({"type": "mcp-json", "path": str(file)})
    settings = machine.load_data({"sources": sources})
    assert [spec.name for spec in settings.servers] == ["db", "db-mcp-json", "db-mcp-json-2"]


def test_a_long_name_still_fits_after_renaming(machine):
    name = "n" * 64
    write(machine.home / ".claude.json", json.dumps({"mcpServers": {name: {"command": "a"}}}))
    write(machine.home / ".cursor/mcp.json", json.dumps({"mcpServers": {name: {"command": "b"}}}))
    assert [len(spec.name) for spec in machine.load().servers] == [64, 64]


def test_the_gateway_in_a_clients_file_is_left_out_quietly_and_its_name_is_not_lent(machine):
    entries = {
        "counter": {"command": "uvx", "args": ["toolcrib"]},
        "toolcrib": {"command": "other"},
        "b": {"command": "x"},
    }
    write(machine.home / ".cursor" / "mcp.json", json.dumps({"mcpServers": entries}))
    settings = machine.load()
    assert [spec.name for spec in settings.servers] == ["b"]
    assert not settings.warnings
    assert len(settings.problems) == 1


def test_a_source_that_is_a_folder_or_in_a_closed_folder_is_reported(machine):
    (machine.home / ".cursor" / "mcp.json").mkdir(parents=True)
    settings = machine.load_data({"sources": ["cursor", {"type": "mcp-json", "path": "a\u0000b"}]})
    assert settings.source_states[0].state == "broken"
    assert len(settings.problems) == 2
