from __future__ import annotations

import pytest

from toolcrib.config.diagnostics import Findings
from toolcrib.config.merge import identity, merge_servers
from toolcrib.model.server import Origin, RemoteLaunch, ServerSpec, StdioLaunch


def of(client, name, launch, **more):
    file = "/h/.docker/mcp/registry.yaml" if client == "docker-mcp" else f"/h/{client}"
    return ServerSpec(name, launch, origin=Origin(client, file), **more)


def merged(*imported, configured=()):
    findings = Findings()
    return merge_servers(list(configured), imported, findings), findings


SAME = [
    (StdioLaunch("npx", ("-y", "a")), StdioLaunch("/usr/bin/npx", ("a",))),
    (StdioLaunch("npx", ("--yes", "a")), StdioLaunch("C:\\node\\npx.cmd", ("a",))),
    (StdioLaunch("uvx", ("a",), {"A": "1", "B": "2"}), StdioLaunch("uvx", ("a",), {"B": "2", "A": "1"})),
    (RemoteLaunch("https://a.example/mcp"), RemoteLaunch("https://a.example/mcp/")),
    (RemoteLaunch("https://a.example/x"), RemoteLaunch("https://a.example/x", {}, "sse")),
]
DIFFERENT = [
    (StdioLaunch("npx", ("a",)), StdioLaunch("npx", ("b",))),
    (StdioLaunch("npx", ("a",), {"A": "1"}), StdioLaunch("npx", ("a",), {"A": "2"})),
    (StdioLaunch("npx", ("a",)), StdioLaunch("npx", ("a",), cwd="/x")),
    (StdioLaunch("npx", ("a@1",)), StdioLaunch("npx", ("a@2",))),
    (StdioLaunch("/one/.venv/bin/python", ("-m", "a")), StdioLaunch("/two/.venv/bin/python", ("-m", "a"))),
    (StdioLaunch("tool", ("-y",)), StdioLaunch("tool")),
    (RemoteLaunch("https://a.example/mcp"), RemoteLaunch("https://a.example/mcp", {"X": "1"})),
    (RemoteLaunch("https://a.example/mcp"), StdioLaunch("https://a.example/mcp")),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_launch_written_differently_is_one_server(first, second):
    servers, findings = merged(of("cursor", "a", first), of("zed", "other-name", second))
    assert [spec.name for spec in servers] == ["a"]
    assert findings.warnings == []


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_launches_of_one_name_are_both_kept(first, second):
    servers, _ = merged(of("cursor", "a", first), of("zed", "a", second))
    assert [(spec.name, spec.launch) for spec in servers] == [("a", first), ("a-zed", second)]
    assert identity(first) != identity(second)


def test_of_two_transports_the_address_decides():
    for path, transport in (("sse", "sse"), ("mcp", "http")):
        url = f"https://a.example/{path}"
        servers, _ = merged(of("cline", "a", RemoteLaunch(url, {}, "sse")), of("cursor", "a", RemoteLaunch(url)))
        assert [spec.launch.transport for spec in servers] == [transport]


def test_a_server_that_is_on_in_one_client_is_on_and_denied_tools_stay_denied():
    servers, _ = merged(
        of("windsurf", "a", StdioLaunch("x"), enabled=False, deny_tools=("erase",)),
        of("cursor", "a", StdioLaunch("x"), deny_tools=("drop",), allow_tools=("look",)),
    )
    assert [(spec.enabled, spec.deny_tools, spec.allow_tools) for spec in servers] == [
        (True, ("erase", "drop"), ("look",))
    ]


def test_what_is_configured_here_is_not_changed_by_a_copy_elsewhere():
    own = ServerSpec("mine", StdioLaunch("npx", ("a",)), enabled=False)
    servers, findings = merged(of("cursor", "theirs", StdioLaunch("npx", ("-y", "a"))), configured=[own])
    assert servers == [own]
    assert findings.warnings == []


GATEWAY = StdioLaunch("docker", ("mcp", "gateway", "run"))


def test_dockers_gateway_brings_the_servers_of_its_toolkit():
    servers, findings = merged(
        of("cursor", "MCP_DOCKER", GATEWAY),
        of("zed", "MCP_DOCKER", GATEWAY),
        of("docker-mcp", "atlas", StdioLaunch("docker")),
    )
    assert [spec.name for spec in servers] == ["MCP_DOCKER"]
    assert "atlas" in findings.warnings[0]


@pytest.mark.parametrize(
    "gateway",
    [
        of("cursor", "MCP_DOCKER", GATEWAY, enabled=False),
        of("cursor", "MCP_DOCKER", StdioLaunch("docker", ("mcp", "gateway", "run", "--profile", "work"))),
        of("cursor", "MCP_DOCKER", StdioLaunch("docker", ("run", "x"))),
    ],
)
def test_another_gateway_of_dockers_stands_beside_the_toolkits_servers(gateway):
    servers, _ = merged(gateway, of("docker-mcp", "atlas", StdioLaunch("docker")))
    assert [spec.name for spec in servers] == ["MCP_DOCKER", "atlas"]
