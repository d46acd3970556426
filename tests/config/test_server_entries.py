from __future__ import annotations

import pytest

from toolcrib.config.diagnostics import Findings
from toolcrib.config.servers import read_servers
from toolcrib.model.server import DeclaredTool, Origin, RemoteLaunch, ServerSpec, StdioLaunch

HERE = Origin(file="/conf/toolcrib.yaml")


def read(section, origin=HERE):
    findings = Findings()
    specs = read_servers(section, "servers", origin, findings)
    return specs, findings


def read_one(entry, name="one"):
    specs, findings = read({name: entry})
    assert findings.problems == []
    assert len(specs) == 1
    return specs[0]


def problem_of(entry):
    specs, findings = read({"one": entry})
    assert specs == []
    assert findings.fatal == []
    return [str(problem) for problem in findings.problems]


FULL = {
    "name": "github",
    "description": "GitHub API integration",
    "connection": {
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "server-github"],
        "env": {"TOKEN": "${GITHUB_TOKEN}"},
        "envFile": "/conf/.env",
        "passEnv": ["LANG"],
        "cwd": "/data",
    },
    "timeout": 5,
    "toolTimeouts": {"export_*": 1800, "none": None},
    "startupTimeout": 90,
    "allowTools": ["a*"],
    "denyTools": ["ab"],
    "prefix": "gh_",
    "tools": ["first", {"name": "second", "description": "The second."}],
}
FULL_SPEC = ServerSpec(
    name="github",
    launch=StdioLaunch("npx", ("-y", "server-github"), {"TOKEN": "${GITHUB_TOKEN}"}, "/conf/.env", ("LANG",), "/data"),
    description="GitHub API integration",
    timeout_seconds=5.0,
    tool_timeouts={"export_*": 1800.0},
    startup_timeout_seconds=90.0,
    allow_tools=("a*",),
    deny_tools=("ab",),
    prefix="gh_",
    declared_tools=(DeclaredTool("first"), DeclaredTool("second", "The second.")),
    origin=HERE,
)


def test_the_nested_form_in_a_list_gives_every_field():
    assert read([FULL]) == ([FULL_SPEC], Findings())


def test_the_nested_form_in_a_map_gives_the_same():
    assert read({"github": FULL}) == ([FULL_SPEC], Findings())


def test_the_flat_form_gives_the_same():
    flat = {**FULL, **FULL["connection"]}
    del flat["connection"]
    assert read([flat]) == ([FULL_SPEC], Findings())


def test_in_a_map_the_key_is_the_name_and_the_name_is_the_title():
    spec = read_one({"name": "GitHub MCP Server", "command": "x"}, name="github")
    assert (spec.name, spec.title) == ("github", "GitHub MCP Server")


def test_a_name_that_does_not_fit_the_wire_is_slugged_and_kept_as_title():
    spec = read_one({"command": "x"}, name="My Notes/2")
    assert (spec.name, spec.title) == ("My-Notes-2", "My Notes/2")


@pytest.mark.parametrize(
    ("entry", "launch"),
    [
        ({"url": "https://a.example/mcp"}, RemoteLaunch("https://a.example/mcp")),
        ({"url": "https://a.example/sse"}, RemoteLaunch("https://a.example/sse", {}, "sse")),
        ({"url": "https://a.example/sse/?k=1"}, RemoteLaunch("https://a.example/sse/?k=1", {}, "sse")),
        ({"type": "http", "url": "https://a.example/sse"}, RemoteLaunch("https://a.example/sse")),
        ({"serverUrl": "https://a.example/mcp"}, RemoteLaunch("https://a.example/mcp")),
        ({"type": "sse", "url": "http://a.example/sse"}, RemoteLaunch("http://a.example/sse", {}, "sse")),
        ({"type": "streamable-http", "url": "http://a.example"}, RemoteLaunch("http://a.example")),
        ({"type": "streamableHttp", "url": "http://a.example"}, RemoteLaunch("http://a.example")),
        ({"type": "streamable_http", "url": "http://a.example"}, RemoteLaunch("http://a.example")),
        ({"type": "remote", "url": "http://a.example"}, RemoteLaunch("http://a.example")),
        ({"url": "${BASE}/mcp", "headers": {"X-A": "${K}"}}, RemoteLaunch("${BASE}/mcp", {"X-A": "${K}"})),
        ({"connection": {"type": "http", "url": "http://a.example"}}, RemoteLaunch("http://a.example")),
        ({"connection": "https://a.example/mcp"}, RemoteLaunch("https://a.example/mcp")),
        ("https://a.example/mcp", RemoteLaunch("https://a.example/mcp")),
        ({"connection": "docker://mcp-git"}, StdioLaunch("docker", ("exec", "-i", "mcp-git", "mcp-git"))),
        ({"connection": "npx -y 'a b'"}, StdioLaunch("npx", ("-y", "a b"))),
        ({"type": "local", "command": ["npx", "-y", "p"]}, StdioLaunch("npx", ("-y", "p"))),
        ({"command": "x", "args": [1, True, 2.5]}, StdioLaunch("x", ("1", "true", "2.5"))),
        ({"command": "x", "env": {"A": 1, "B": None, "C": False}}, StdioLaunch("x", (), {"A": "1", "C": "false"})),
        ({"command": "./run.py"}, StdioLaunch("/conf/run.py")),
        ({"command": "./run.py", "cwd": "sub"}, StdioLaunch("./run.py", cwd="/conf/sub")),
        ({"command": "x", "envFile": ".env"}, StdioLaunch("x", env_file="/conf/.env")),
        ({"command": "x", "envFile": "~/.env", "cwd": "${D}"}, StdioLaunch("x", env_file="~/.env", cwd="${D}")),
    ],
)
def test_every_way_to_write_a_launch_is_understood(entry, launch):
    assert read_one(entry).launch == launch


@pytest.mark.parametrize(
    ("entry", "enabled"),
    [({}, True), ({"enabled": False}, False), ({"disabled": True}, False), ({"disabled": False}, True)],
)
def test_both_off_switches_work(entry, enabled):
    assert read_one({"command": "x", **entry}).enabled is enabled


def test_disabled_tools_of_a_client_are_denied_tools():
    assert read_one({"command": "x", "disabledTools": ["erase"]}).deny_tools == ("erase",)


def test_an_argument_text_is_split_and_noted():
    specs, findings = read({"one": {"command": "x", "args": "-a 'b c'"}})
    assert specs[0].launch == StdioLaunch("x", ("-a", "b c"))
    assert "args" in findings.warnings[0]


def test_a_command_that_is_a_whole_line_is_kept_and_noted():
    specs, findings = read({"one": {"command": "npx -y thing"}})
    assert specs[0].launch == StdioLaunch("npx -y thing")
    assert "args" in findings.warnings[0]


@pytest.mark.parametrize("command", ["/opt/my programs/run", "C:\\Program Files\\x.exe", "./my tool"])
def test_a_path_with_a_space_is_not_taken_for_a_line(command):
    assert read({"one": {"command": command}})[1].warnings == []


BAD = {
    "neither command nor url": ({}, "servers.one: expected either command"),
    "both": ({"command": "x", "url": "http://a.example"}, "found both"),
    "wrong type word": ({"type": "carrier-pigeon", "url": "http://a.example"}, "servers.one.type: expected stdio"),
    "type is a number": ({"type": 5, "url": "http://a.example"}, "servers.one.type: expected text"),
    "empty command": ({"command": "  "}, "servers.one.command"),
    "command is a number": ({"command": 5}, "servers.one.command: expected text, found a number"),
    "stdio without command": ({"type": "stdio"}, "servers.one.command"),
    "http without url": ({"type": "http"}, "servers.one.url"),
    "strange scheme": ({"url": "ftp://a.example"}, "servers.one.url: expected an http or https"),
    "no host": ({"url": "http://"}, "servers.one.url"),
    "bad port": ({"url": "http://a.example:99999/"}, "servers.one.url"),
    "args of maps": ({"command": "x", "args": [{}]}, "servers.one.args[0]: expected text, found an empty map"),
    "args is a map": ({"command": "x", "args": {"a": 1}}, "servers.one.args: expected a list of texts, found a map"),
    "args with an open quote": ({"command": "x", "args": "'a"}, "servers.one.args"),
    "env is a list": ({"command": "x", "env": ["A=1"]}, "servers.one.env: expected a map"),
    "env name": ({"command": "x", "env": {"A=B": "1"}}, "servers.one.env"),
    "env of lists": ({"command": "x", "env": {"A": []}}, "servers.one.env.A"),
    "header name": ({"url": "http://a.example", "headers": {"a b": "1"}}, "servers.one.headers"),
    "header with a line break": ({"url": "http://a.example", "headers": {"A": "1\r\nB: 2"}}, "servers.one.headers.A"),
    "NUL": ({"command": "a\x00b"}, "servers.one.command"),
    "timeout of 0": (
        {"command": "x", "timeout": 0},
        "servers.one.timeout: expected a number of seconds above 0, found 0",
    ),
    "timeout of text": ({"command": "x", "timeout": "5"}, "found text"),
    "tool timeouts as a list": ({"command": "x", "toolTimeouts": [5]}, "expected a map of names to seconds"),
    "a tool timeout of 0": (
        {"command": "x", "toolTimeouts": {"a": 0}},
        "servers.one.toolTimeouts.a: expected a number of seconds above 0, found 0",
    ),
    "enabled of text": ({"command": "x", "enabled": "no"}, "servers.one.enabled: expected true or false"),
    "tools of numbers": ({"command": "x", "tools": [5]}, "servers.one.tools[0]"),
    "tools is a map": ({"command": "x", "tools": {"a": 1}}, "servers.one.tools"),
    "long prefix": ({"command": "x", "prefix": "p" * 65}, "servers.one.prefix"),
    "connection is a number": ({"connection": 5}, "servers.one.connection"),
    "connection of another kind": ({"connection": "gopher://x"}, "servers.one.connection"),
    "container with an option": ({"connection": "docker://--privileged x"}, "servers.one.connection"),
    "connection with an open quote": ({"connection": "npx 'x"}, "servers.one.connection"),
    "empty connection": ({"connection": " "}, "servers.one.connection"),
    "entry is a number": (5, "servers.one: expected a server entry, found a number"),
}


@pytest.mark.parametrize(("entry", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_entry_is_skipped_and_says_why(entry, message):
    problems = problem_of(entry)
    assert any(message in problem for problem in problems), problems
    assert all(problem.startswith("/conf/toolcrib.yaml: servers.one") for problem in problems)


def test_several_problems_of_one_entry_are_reported_at_once():
    assert len(problem_of({"command": 5, "args": {}, "timeout": -1, "enabled": "x"})) >= 3


def test_a_bad_entry_leaves_its_neighbours_alone():
    specs, findings = read([{"command": "x"}, {"name": "good", "command": "x"}, "not an entry", {"name": " "}])
    assert [spec.name for spec in specs] == ["good"]
    assert [problem.where for problem in findings.problems] == ["servers[0].name", "servers[2].name", "servers[3].name"]


def test_servers_that_are_neither_list_nor_map_refuse_the_file():
    assert read("github")[1].fatal[0].where == "servers"


def test_an_unknown_key_of_ours_is_a_warning_with_the_nearest_one():
    _, findings = read({"one": {"command": "x", "arg": ["y"], "startuptimeout": 5}})
    assert findings.warnings == [
        "/conf/toolcrib.yaml: servers.one.arg: unknown key; did you mean 'args'?",
        "/conf/toolcrib.yaml: servers.one.startuptimeout: unknown key; did you mean 'startupTimeout'?",
    ]


def test_an_unknown_key_of_a_client_is_its_own_affair():
    assert read({"one": {"command": "x", "gallery": True}}, Origin("cursor", "/c.json"))[1].warnings == []


SECRET = "hunter2-canary"


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "env": SECRET},
        {"command": "x", "env": {"A": [SECRET]}},
        {"command": "x", "args": {"a": SECRET}},
        {"command": "x", "args": f"'{SECRET}"},
        {"url": f"ftp://{SECRET}"},
        {"url": "http://a.example", "headers": {"A": f"{SECRET}\n"}},
        {"connection": f"other://{SECRET}"},
        {"command": "x", "enabled": SECRET},
        {"type": SECRET, "url": "http://a.example"},
    ],
)
def test_no_value_of_an_entry_is_repeated_in_a_problem(entry):
    problems = problem_of(entry)
    assert problems
    assert SECRET not in str(problems)
