from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.peers.cards import KITCHEN
from toolcrib.model.peer import PeerAddress
from toolcrib.model.peer_address import scanned_addresses, written_address, written_peer
from toolcrib.peers.addresses import MOST_ADDRESSES, introduced, nearby, own_addresses

OWN = own_addresses(["10.0.0.5/24", "fe80::5%eth0/64", "fd00:ec2::5/64", "169.254.1.1/16"])


def hosts(*named: str, port: int = 8666) -> list[str]:
    return [address.host for address in nearby(named, port, OWN)]


def test_only_addresses_of_our_own_links_are_taken_from_records() -> None:
    assert hosts("10.0.0.7", "fe80::7%eth0") == ["10.0.0.7", "fe80::7%eth0"]
    assert hosts("10.0.1.7", "192.168.0.1", "8.8.8.8", "2001:db8::1", "kitchen.local") == []
    assert hosts("127.0.0.1", "::1", "0.0.0.0", "::", "224.0.0.251", "ff02::fb") == []
    assert hosts("169.254.169.254", "fd00:ec2::254", "::ffff:10.0.0.7") == []
    assert hosts("10.0.0.5", "fe80::5%eth0", "10.0.0.255") == []
    assert hosts("169.254.1.2") == ["169.254.1.2"]


@pytest.mark.parametrize(
    ("port", "is_taken"), [(0, False), (22, False), (443, True), (1023, False), (1024, True), (65_536, False)]
)
def test_ports_of_other_services_are_not_taken(port: int, is_taken: bool) -> None:
    assert bool(hosts("10.0.0.7", port=port)) is is_taken


def test_a_peer_has_only_a_few_addresses_and_each_once() -> None:
    assert hosts("10.0.0.7", "10.0.0.7", *(f"10.0.0.{last}" for last in range(8, 20))) == [
        f"10.0.0.{last}" for last in range(7, 7 + MOST_ADDRESSES)
    ]


def test_loopback_is_taken_where_a_person_chose_it() -> None:
    assert nearby(["127.0.0.1", "127.0.0.2"], 8666, own_addresses(["127.0.0.1/8"])) == (
        PeerAddress("127.0.0.1", 8666),
        PeerAddress("127.0.0.2", 8666),
    )


def test_another_peer_may_name_public_addresses_too() -> None:
    named = ["10.0.0.7", "10.9.0.7", "8.8.8.8", "127.0.0.1", "169.254.169.254", "64:ff9b::7f00:1"]
    assert [address.host for address in introduced(named, 8666, OWN)] == ["10.0.0.7", "8.8.8.8"]


@given(st.ip_addresses().map(str) | st.text(max_size=20))
def test_whatever_a_record_names_is_a_neighbour_or_not_taken(host: str) -> None:
    taken = nearby([host], 8666, own_addresses(["10.0.0.5/8"]))
    assert all(address.host.startswith("10.") for address in taken)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kitchen.lan:8666", ("", "kitchen.lan", 8666)),
        ("10.0.0.7:1", ("", "10.0.0.7", 1)),
        ("[fe80::7%eth0]:8666", ("", "fe80::7%eth0", 8666)),
        (f"{KITCHEN.peer_id}@kitchen:8666", (KITCHEN.peer_id, "kitchen", 8666)),
    ],
)
def test_a_peer_is_written_by_its_address_and_maybe_its_id(text: str, expected: tuple[str, str, int]) -> None:
    peer_id, address = written_peer(text)
    assert (peer_id, address.host, address.port) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kitchen",
        "kitchen:",
        "kitchen:0",
        "kitchen:99999",
        "a:b:1",
        "[kitchen]:1",
        "::1:80",
        "x@kitchen:1",
        "http://a:1",
        "a b:1",
        "a:1-2",
    ],
)
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        written_peer(text)


def test_a_scan_names_one_address_and_a_few_ports() -> None:
    assert scanned_addresses("192.0.2.10:8080") == [PeerAddress("192.0.2.10", 8080)]
    assert [one.port for one in scanned_addresses("[2001:db8::1]:8080-8082")] == [8080, 8081, 8082]
    for text in (
        "192.0.2.0/24:80",
        "host:80",
        "192.0.2.10:8080-8144",
        "192.0.2.10:90-80",
        "192.0.2.10",
        "192.0.2.1-9:80",
    ):
        with pytest.raises(ValueError, match="expected"):
            scanned_addresses(text)


@given(st.text(max_size=40))
def test_whatever_is_written_is_an_address_or_refused(text: str) -> None:
    for read in (written_address, scanned_addresses):
        with suppress(ValueError):  # and nothing else
            assert read(text)
