from __future__ import annotations

import json

import pytest

from tests.config.conftest import write
from toolcrib.config.load import load_settings
from toolcrib.config.project_files import PROJECT_FILES
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import Origin, RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.tool_rule import ToolRule

PUBLISHED_EXAMPLE = """
discovery:
  enabled: true
  cache:
    enabled: true
    ttl: 60
  servers:
    - name: files
      connection: {type: stdio, command: npx, args: ['-y', server-filesystem]}
  toolRules:
    - pattern: ['*github*', '/issue/']
      enabled: true
      tags: ['github', 'issues']
    - server: filesystem
      pattern: ['*delete*']
      enabled: false
"""


def names(settings: Settings) -> list[str]:
    return [spec.name for spec in settings.servers]


def test_the_example_of_the_specification_is_understood(machine):
    settings = machine.load_text(PUBLISHED_EXAMPLE)
    file = str(machine.cwd / "elsewhere" / "given.yaml")
    assert settings.cache_ttl_seconds == 60.0
    assert settings.servers == (
        ServerSpec("files", StdioLaunch("npx", ("-y", "server-filesystem")), origin=Origin(file=file)),
    )
    assert settings.tool_rules == (
        ToolRule(("*github*", "/issue/"), None, True, ("github", "issues")),
        ToolRule(("*delete*",), "filesystem", False, ()),
    )
    assert (settings.problems, settings.warnings, settings.sources) == ((), (), ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "discovery: {servers: {one: {command: x}}}"),
        ("a.yml", "servers: {one: {command: x}}"),
        ("a.json", '{"mcpServers": {"one": {"command": "x"}}}'),
        ("a.json", '{"mcp": {"servers": {"one": {"command": "x"}}}}'),
        ("a.json", '{"mcp": {"discovery": {"servers": {"one": {"command": "x"}}}}}'),
        ("a.toml", '[discovery.servers.one]\ncommand = "x"'),
        ("a.toml", '[[servers]]\nname = "one"\ncommand = "x"'),
        ("a.json", '{"discovery": {"enabled": true}, "mcpServers": {"one": {"command": "x"}}}'),
        ("a.yaml", "discovery:\n  mcpServers: {one: {command: x}}\nproviders: {anything: 1}"),
    ],
)
def test_every_place_for_servers_is_found(machine, name, text):
    settings = machine.load_text(text, name)
    assert [(spec.name, spec.launch) for spec in settings.servers] == [("one", StdioLaunch("x"))]
    assert settings.warnings == ()


def test_no_file_at_all_gives_defaults_and_looks_for_the_clients(machine):
    settings = machine.load()
    assert settings.file is None
    assert settings.enabled
    assert settings.cache_enabled
    assert settings.cache_ttl_seconds == 3600.0
    assert settings.tool_rules == ()
    assert {state.state for state in settings.source_states} == {"missing"}
    assert {"claude-desktop", "claude-code", "cursor", "windsurf", "docker-mcp"} < {
        source.type for source in settings.sources
    }


def test_a_file_without_sources_imports_nothing(machine):
    write(machine.home / ".cursor" / "mcp.json", '{"mcpServers": {"one": {"command": "x"}}}')
    assert machine.load_text("{}").servers == ()
    assert names(machine.load()) == ["one"]


def test_an_empty_section_is_all_defaults(machine):
    assert machine.load_text("discovery:").enabled


def test_the_environment_wins_over_the_file(machine):
    text = "callTimeout: 5\ncache: {ttl: 7}\nhttp: {port: 1}"
    settings = machine.load_text(text, TOOLCRIB_CALL_TIMEOUT="9.5", TOOLCRIB_CACHE_TTL="0", TOOLCRIB_HTTP_PORT="")
    assert (settings.call_timeout_seconds, settings.cache_ttl_seconds, settings.http_port) == (9.5, 0.0, 1)


def test_an_unknown_key_is_a_warning_with_the_nearest_one(machine):
    settings = machine.load_text("discovery: {calltimeout: 3, cache: {tll: 1}, toolrules: [], zzzzzz: 1}")
    file = settings.file
    assert settings.warnings == (
        f"{file}: discovery.calltimeout: unknown key; did you mean 'callTimeout'?",
        f"{file}: discovery.toolrules: unknown key; did you mean 'toolRules'?",
        f"{file}: discovery.zzzzzz: unknown key",
        f"{file}: discovery.cache.tll: unknown key; did you mean 'ttl'?",
    )


def test_a_bad_file_reports_everything_at_once(machine):
    data = {
        "discovery": {
            "enabled": "yes",
            "cache": 5,
            "callTimeout": -1,
            "rulePrecedence": "newest",
            "sources": "everywhere",
            "toolRules": [{"pattern": []}, {"pattern": ["a"], "enable": False}],
            "servers": {"bad": {}, "good": {"command": "x"}},
        }
    }
    with pytest.raises(ConfigurationError) as refusal:
        machine.load_data(data, TOOLCRIB_HTTP_PORT="99999")
    file = str(machine.cwd / "elsewhere" / "given.json")
    assert {(problem.source, problem.where) for problem in refusal.value.problems} == {
        (file, "discovery.enabled"),
        (file, "discovery.cache"),
        (file, "discovery.callTimeout"),
        (file, "discovery.rulePrecedence"),
        (file, "discovery.sources"),
        (file, "discovery.toolRules[0].pattern"),
        (file, "discovery.toolRules[1].enable"),
        (file, "discovery.servers.bad"),
        ("environment", "TOOLCRIB_HTTP_PORT"),
    }


def test_a_problem_says_what_was_found_and_expected(machine):
    with pytest.raises(ConfigurationError) as refusal:
        machine.load_text("rulePrecedence: newest")
    assert refusal.value.problems[0].message == "expected one of deny, first, last, found 'newest'"


@pytest.mark.parametrize("text", ["[1, 2]", "just text", "discovery: [1]", "servers: 5", "{"])
def test_a_file_of_another_shape_is_refused(machine, text):
    with pytest.raises(ConfigurationError):
        machine.load_text(text)


def test_a_bad_server_is_skipped_and_the_rest_works(machine):
    settings = machine.load_text("servers: {bad: {command: 5}, good: {command: x}}")
    assert names(settings) == ["good"]
    assert [problem.where for problem in settings.problems] == ["servers.bad.command"]


def test_the_same_server_twice_is_one_and_another_of_its_name_is_a_problem(machine):
    text = "servers: [{name: a, command: x}, {name: a, command: x}, {name: a, command: y}]"
    settings = machine.load_text(text)
    assert [spec.launch for spec in settings.servers] == [StdioLaunch("x")]
    assert [problem.where for problem in settings.problems] == ["a"]
    assert settings.warnings == ()


def test_a_second_entry_that_says_more_of_the_same_server_is_told_of(machine):
    text = "servers: [{name: a, command: x}, {name: a, command: x, denyTools: [drop]}]"
    settings = machine.load_text(text)
    assert [spec.deny_tools for spec in settings.servers] == [()]
    [warning] = settings.warnings
    assert warning.startswith("server 'a' of ")
    assert warning.endswith("the first one counts")


def test_the_gateways_own_name_is_reserved(machine):
    settings = machine.load_text("servers: {toolcrib: {command: x}, ToolCrib: {command: y}}")
    assert settings.servers == ()
    assert [problem.where for problem in settings.problems] == ["toolcrib", "ToolCrib"]


def test_the_gateway_itself_is_left_out_under_any_name(machine):
    settings = machine.load_text(
        "http: {port: 9}\n"
        "servers: {toolcrib: {command: uvx, args: [toolcrib]}, me: {url: 'http://[::1]:9/mcp'}, other: {command: x}}"
    )
    assert names(settings) == ["other"]
    assert settings.problems == ()
    assert len(settings.warnings) == 2


def test_more_servers_than_allowed_are_reported_and_left_out(machine):
    many = {f"s{index}": {"command": "x"} for index in range(1001)}
    settings = machine.load_data({"servers": many})
    assert len(settings.servers) == 1000
    assert len(settings.problems) == 1
    assert len(machine.load_data({"servers": many, "maxServers": 2}).servers) == 2


def test_an_endpoint_of_the_environment_is_a_server(machine):
    settings = machine.load_text(
        "{}", NOTES_APP_MCP_ENDPOINT="https://notes.example/mcp", SHELF_MCP_ENDPOINT="uvx shelf-mcp"
    )
    assert settings.servers == (
        ServerSpec("notes-app", RemoteLaunch("https://notes.example/mcp"), origin=Origin("environment")),
        ServerSpec("shelf", StdioLaunch("uvx", ("shelf-mcp",)), origin=Origin("environment")),
    )


def test_an_endpoint_of_the_environment_wins_over_the_file(machine):
    text = "servers: {notes-app: {url: 'http://old.example', headers: {A: b}}, shelf: {command: x, description: Shelf}}"
    settings = machine.load_text(
        text, NOTES_APP_MCP_ENDPOINT="http://new.example", SHELF_MCP_ENDPOINT="http://s.example"
    )
    assert [spec.launch for spec in settings.servers] == [
        RemoteLaunch("http://new.example", {"A": "b"}),
        RemoteLaunch("http://s.example"),
    ]
    assert settings.servers[1].description == "Shelf"


def test_a_bad_endpoint_of_the_environment_is_a_problem_without_its_value(machine):
    settings = machine.load_text(
        "{}", A_MCP_ENDPOINT="gopher://canary", TOOLCRIB_MCP_ENDPOINT="http://x.example", B_MCP_ENDPOINT=" "
    )
    assert settings.servers == ()
    assert [problem.where for problem in settings.problems] == ["A_MCP_ENDPOINT", "TOOLCRIB_MCP_ENDPOINT"]
    assert "canary" not in str(settings.problems)


def test_the_older_cache_variable_is_read_and_a_bad_one_is_only_a_warning(machine):
    assert machine.load_text("{}", CCOS_MCP_CACHE_TTL="60").tool_cache_ttl_seconds == 60.0
    settings = machine.load_text("{}", CCOS_MCP_CACHE_TTL="soon")
    assert settings.tool_cache_ttl_seconds == 86_400.0
    assert "CCOS_MCP_CACHE_TTL" in settings.warnings[0]


def test_secrets_in_entries_do_not_show_in_a_printed_settings(machine):
    settings = machine.load_data({"servers": {"a": {"command": "x", "env": {"K": "canary"}}}})
    assert "canary" not in repr(settings)


def test_references_stay_unresolved_in_settings(machine):
    settings = machine.load_data({"servers": {"a": {"command": "x", "env": {"K": "${K}"}}}}, K="canary")
    assert settings.servers[0].launch == StdioLaunch("x", (), {"K": "${K}"})


def test_every_file_read_or_looked_for_is_watched(machine):
    text = json.dumps({"sources": [{"type": "custom", "path": "more.yaml"}, "cursor"]})
    settings = machine.load_text(text, "given.json")
    folder = machine.cwd / "elsewhere"
    assert settings.watched_files == (
        folder / "given.json",
        folder / "more.yaml",
        machine.home / ".cursor" / "mcp.json",
        *(machine.cwd / name for name in PROJECT_FILES),
    )
    assert machine.home / ".anygpt" / "mcp-discovery.config.yaml" in machine.load().watched_files


def test_by_default_the_real_environment_is_read(machine, monkeypatch):
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(machine.cwd)
    monkeypatch.setenv("TOOLCRIB_MAX_CALLS", "7")
    assert load_settings().max_calls == 7


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("enabled", True),
        ("sources", ()),
        ("tool_rules", ()),
        ("cache_enabled", True),
        ("cache_ttl_seconds", 3600),
        ("tool_cache_ttl_seconds", 24 * 3600),
        ("idle_stop_seconds", 300),
        ("max_servers", 1000),
        ("max_tools_per_server", 1000),
        ("max_tools", 10_000),
    ],
)
def test_each_setting_has_the_default_that_was_promised(field: str, default: object) -> None:
    assert getattr(Settings(), field) == default
