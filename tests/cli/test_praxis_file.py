"""A Praxis agent's file given as the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.machine import Machine
from tests.fakes import FakeServer, FakeServers, tool
from toolcrib import load_settings, open_gateway

AGENT = """
agent:
  name: my-agent
  version: "1.0"
  external_mcp_endpoints:
    - "http://localhost:3000/mcp"
    - {name: wiki, url: "http://localhost:3001/mcp", headers: {Authorization: "Bearer ${WIKI_TOKEN}"}}
p2p: {enabled: true, port: 4001, rendezvous: praxis-agents}
http: {enabled: true, port: 8000, host: 0.0.0.0}
mcp:
  enabled: true
  servers:
    - {name: files, transport: stdio, command: npx, args: [files-mcp], workdir: /srv, timeout: 45s}
  limits: {request_timeout_ms: 30000}
logging: {level: info}
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    file = tmp_path / "agent.yaml"
    file.write_text(AGENT)
    return file


def test_a_praxis_file_is_a_configuration_whose_only_remarks_are_about_peers(machine: Machine, agent: Path) -> None:
    ran = machine.run("--config", str(agent), "config", "validate", "--json")
    assert ran.code == 0
    version, exposed = ran.json["warnings"]
    assert "agent.version: is not used" in version
    assert "no tool is offered to them before `peers.expose` names it" in exposed


def test_a_praxis_file_switches_peers_on_and_says_what_has_no_counterpart(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("""
agent: {name: workshop, description: d, url: "http://a", shared_dir: /srv, tools: [{name: x}]}
p2p:
  {enabled: true, port: 4010, secure: false, rendezvous: my-agents, enable_mdns: false, enable_dht: true,
   bootstrap_nodes: [/ip4/192.0.2.1/tcp/4001/p2p/12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB, "192.0.2.2:8666"], advertise_addrs: [/ip4/192.0.2.3/tcp/1]}
discovery: {peers: {port: 9000, expose: [notes], mdns: true}}
""")

    settings = load_settings(file, env={})

    assert (settings.peers_enabled, settings.peers_advertise, settings.peers_name) == (True, True, "workshop")
    assert (settings.peers_libp2p_port, settings.peers_rendezvous, settings.peers_dht) == (4010, "my-agents", True)
    assert settings.peers_bootstrap == (
        "/ip4/192.0.2.1/tcp/4001/p2p/12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB",
        "192.0.2.2:8666",
    )
    # What is written in our own words counts more.
    assert (settings.peers_port, settings.peers_mdns, settings.peers_expose) == (9000, True, ("notes",))
    told = [warning.partition(".yaml: ")[2].partition(":")[0] for warning in settings.warnings]
    assert told == [
        "p2p.secure",
        "p2p.advertise_addrs",
        "agent.description",
        "agent.url",
        "agent.shared_dir",
        "agent.tools",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("p2p: {enabled: true, port: many}", "p2p.port"),
        ("p2p: {enabled: true, rendezvous: ''}", "p2p.rendezvous"),
        ("p2p: {enabled: true}\nagent: {name: ''}", "agent.name"),
        ("p2p: {enabled: true}\nagent: {name: '...'}", "peers.name"),
        ("p2p: {enabled: true, bootstrap_nodes: [nowhere]}", "peers.bootstrap"),
    ],
)
def test_a_word_about_peers_that_does_not_fit_is_named(machine: Machine, text: str, place: str) -> None:
    machine.configure(text)
    ran = machine.run("config", "validate")
    assert ran.code != 0
    assert place in ran.out + ran.err


def test_its_endpoints_and_servers_are_those_of_the_gateway_and_its_http_section_is_not_ours(agent: Path) -> None:
    settings = load_settings(agent)
    assert [(spec.name, spec.contract) for spec in settings.servers] == [
        ("localhost-3000", "remote-mcp"),
        ("wiki", "remote-mcp"),
        ("files", ""),
    ]
    files = settings.servers[-1]
    assert (files.launch.cwd, files.timeout_seconds) == ("/srv", 45.0)
    assert (settings.http_port, settings.http_host) == (8665, "127.0.0.1")


async def test_its_endpoints_are_called_under_their_external_names(agent: Path) -> None:
    wiki = FakeServer("wiki", [tool("read_page", "Read a page.")])
    async with open_gateway(agent, opener=FakeServers(wiki)) as gateway:
        assert (await gateway.execute_tool("wiki", "read_page_external", {"id": 1})).value == {"id": 1}


@pytest.mark.parametrize(("section", "warnings"), [("{enabled: false}", 0), ("{}", 1), ("{port: 1}", 1)])
def test_peers_that_are_switched_off_are_worth_no_word(machine: Machine, section: str, warnings: int) -> None:
    machine.configure(f"p2p: {section}\nagent: {{name: a}}\n")
    assert len(machine.run("config", "validate", "--json").json["warnings"]) == warnings


def test_a_source_of_this_kind_is_warned_of_too(machine: Machine, agent: Path) -> None:
    machine.configure(f"sources: [{{type: praxis, path: {agent}}}]")
    assert "p2p" in machine.run("config", "validate").out


def test_settings_of_ours_may_stand_beside_the_agent(tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(AGENT + "discovery: {callTimeout: 7, servers: {own: {command: x}}}\n")
    settings = load_settings(file)
    assert settings.call_timeout_seconds == 7
    assert [spec.name for spec in settings.servers] == ["localhost-3000", "wiki", "files", "own"]
