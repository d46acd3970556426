from __future__ import annotations

import pytest

from toolcrib.config.secret_refs import bearer_for
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import RemoteLaunch, ServerSpec

PEER = "12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB"


def test_peers_are_off_and_one_word_switches_them_on(machine):
    assert not machine.load_text("discovery: {}").peers_enabled
    on = machine.load_text("discovery: {peers: true}")
    assert (on.peers_enabled, on.peers_advertise, on.warnings) == (True, False, ())


@pytest.mark.parametrize(
    "section",
    [
        "static: [kitchen]",
        "static: ['nobody@kitchen:1']",
        "bootstrap: ['http://a']",
        "bootstrap: ['/ip4/192.0.2.7/tcp/4001']",
        "bootstrap: ['/unix/tmp/socket/p2p/QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN']",
        "tag: 'a name that is no service'",
        "tag: praxis-p2p-mcp-and-more",
        "dht: true, rendezvous: ''",
        "scan: [192.0.2.0/24]",
        "scan: ['host:80']",
        "scan: [" + ", ".join(f"'192.0.2.{last}:80'" for last in range(17)) + "]",
        "name: '---'",
        "trust: everybody",
    ],
)
def test_what_nobody_could_reach_is_refused(machine, section):
    with pytest.raises(ConfigurationError, match=r"peers\.\w+: expected"):
        machine.load_text(f"discovery: {{peers: {{{section}}}}}")


def test_addresses_for_libp2p_are_taken(machine):
    nodes = [f"/ip4/192.0.2.7/tcp/4001/p2p/{PEER}", f"/dns4/kitchen.lan/tcp/4001/p2p/{PEER}"]
    text = f"discovery: {{peers: {{bootstrap: {nodes}, tag: kitchen-mcp, dht: true, rendezvous: here}}}}"
    assert machine.load_text(text).peers_bootstrap == tuple(nodes)


def test_addresses_of_peers_are_taken(machine):
    text = f"discovery: {{peers: {{static: ['{PEER}@10.0.0.7:8666', 'kitchen.lan:8666'], scan: ['192.0.2.10:80-90']}}}}"
    assert len(machine.load_text(text).peers_static) == 2


def test_who_can_be_found_but_offers_nothing_is_told(machine):
    told = machine.load_text("discovery: {peers: {enabled: true, advertise: true}}").warnings
    assert "`peers.expose`" in told[0]
    assert machine.load_text("discovery: {peers: {enabled: true, advertise: true, expose: ['*']}}").warnings == ()


def test_addresses_to_look_at_are_of_no_use_while_peers_are_off_and_that_is_told(machine):
    told = machine.load_text("discovery: {peers: {scan: ['192.0.2.10:80']}}").warnings
    assert "peers.scan: is not used without `peers.enabled`" in told[0]
    assert machine.load_text("discovery: {peers: {enabled: true, scan: ['192.0.2.10:80']}}").warnings == ()


def test_a_person_may_write_a_peer_as_a_server(machine):
    settings = machine.load_text(f"discovery: {{servers: {{kitchen: {{url: 'peer://{PEER}'}}}}}}")
    assert settings.problems == ()
    assert settings.servers[0].launch == RemoteLaunch(f"peer://{PEER}")
    wrong = machine.load_text("discovery: {servers: {kitchen: {url: 'peer://kitchen'}}}")
    assert "expected an http or https address" in wrong.problems[0].message


def test_a_peer_gets_no_token_of_the_environment():
    env = {"KITCHEN_MCP_TOKEN": "secret", "MCP_AUTH_TOKEN": "secret"}
    assert bearer_for(ServerSpec("kitchen", RemoteLaunch("https://kitchen.example/mcp")), env) == "secret"
    assert bearer_for(ServerSpec("kitchen", RemoteLaunch(f"peer://{PEER}")), env) is None
