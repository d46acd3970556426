"""What the node of libp2p is to do, by the settings and the networks of the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from toolcrib.config.settings import Settings
from toolcrib.lan.libp2p_process import NodeSettings
from toolcrib.peers.addresses import own_addresses
from toolcrib.server.peer_libp2p import node_settings

NETWORKS = own_addresses(["fe80::1%eth0/64", "10.0.0.5/24", "2001:db8::5/64"])
NODE = "/ip4/192.0.2.7/tcp/4001/p2p/12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB"


def wanted(**settings: Any) -> NodeSettings | None:
    given = {"peers_enabled": True, "peers_libp2p": True, "peers_advertise": True, **settings}
    return node_settings(replace(Settings(), **given), NETWORKS)


def test_without_the_setting_there_is_no_node() -> None:
    assert wanted(peers_libp2p=False) is None


@pytest.mark.parametrize(
    ("settings", "hosts"),
    [
        ({}, ("10.0.0.5", "2001:db8::5")),
        ({"peers_host": "0.0.0.0"}, ("10.0.0.5", "2001:db8::5")),
        ({"peers_host": "10.0.0.5"}, ("10.0.0.5",)),
        ({"peers_advertise": False}, ()),
    ],
)
def test_it_listens_at_addresses_that_others_can_be_told(settings: Any, hosts: tuple[str, ...]) -> None:
    node = wanted(peers_libp2p_port=4004, **settings)
    assert node is not None
    assert node.listen == tuple((host, 4004) for host in hosts)


def test_every_setting_for_libp2p_reaches_the_node() -> None:
    edited = wanted(
        peers_mdns=False, peers_tag="kitchen", peers_dht=True, peers_rendezvous="here", peers_bootstrap=(NODE, "a:1")
    )
    assert edited is not None
    assert (edited.mdns, edited.tag, edited.interfaces) == (False, "kitchen", ("10.0.0.5",))
    assert (edited.dht, edited.rendezvous, edited.bootstrap) == (True, "here", (NODE,))


def test_networks_in_another_order_are_the_same_networks() -> None:
    settings = replace(Settings(), peers_libp2p=True, peers_advertise=True)
    assert node_settings(settings, NETWORKS) == node_settings(settings, NETWORKS[::-1])
