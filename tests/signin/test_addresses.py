"""Which addresses a sign-in uses."""

from __future__ import annotations

import pytest

from toolcrib.signin.addresses import AddressRefused, check_place, check_shape

REMOTE = "https://api.example.com/mcp"
LOCAL = "http://127.0.0.1:8000/mcp"
PUBLIC, PRIVATE, LOOPBACK = ["93.184.216.34"], ["192.168.1.5"], ["127.0.0.1"]


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("https://auth.example.com/token", REMOTE),
        ("https://auth.example.com:8443/token", REMOTE),
        ("https://auth.example.com/token?tenant=7", REMOTE),
        ("http://127.0.0.1:9000/token", LOCAL),
        ("http://localhost:9000/token", LOCAL),
        ("http://box.lan:9000/token", "http://box.lan:8000/mcp"),
        ("https://auth.example.com:992/token", "https://api.example.com:992/mcp"),
    ],
)
def test_an_address_as_services_have_them_is_used(url: str, resource: str) -> None:
    check_shape(url, resource)


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("http://auth.example.com/token", REMOTE),
        ("http://auth.example.com/token", LOCAL),
        ("http://127.0.0.1:9000/token", REMOTE),
        ("http://api.example.com/token", REMOTE),
        ("file:///etc/passwd", REMOTE),
        ("javascript:alert(1)", REMOTE),
        ("ftp://auth.example.com/token", REMOTE),
        ("https://user:word@auth.example.com/token", REMOTE),
        ("https://api.example.com@evil.example/token", REMOTE),
        ("https:///token", REMOTE),
        ("https://auth.example.com:22/token", REMOTE),
        ("https://auth.example.com:99999/token", REMOTE),
        ("https://auth.example.com/to ken", REMOTE),
        ("https://auth.example.com/to\nken", REMOTE),
        ("https://[::1/token", REMOTE),
        ("", REMOTE),
        ("calc.exe", REMOTE),
    ],
)
def test_an_address_of_any_other_shape_is_refused(url: str, resource: str) -> None:
    with pytest.raises(AddressRefused):
        check_shape(url, resource)


@pytest.mark.parametrize(
    ("addresses", "own"),
    [(PUBLIC, PUBLIC), (PUBLIC, LOOPBACK), (PRIVATE, PRIVATE), (LOOPBACK, LOOPBACK), (PRIVATE, LOOPBACK), ([], PUBLIC)],
)
def test_a_host_on_the_internet_or_where_the_server_is_may_be_asked(addresses: list[str], own: list[str]) -> None:
    check_place("auth.example.com", addresses, own)


@pytest.mark.parametrize(
    ("addresses", "own"),
    [
        (PRIVATE, PUBLIC),
        (LOOPBACK, PUBLIC),
        ([*PUBLIC, *LOOPBACK], PUBLIC),
        (["::ffff:127.0.0.1"], PUBLIC),
        (["64:ff9b::7f00:1"], PUBLIC),
        (["100.64.0.1"], PUBLIC),
        (["0.0.0.0"], PUBLIC),
        (PRIVATE, []),
        (["169.254.169.254"], PUBLIC),
        (["169.254.169.254"], LOOPBACK),
        (["::ffff:169.254.169.254"], LOOPBACK),
        (["fe80::1%eth0"], PRIVATE),
    ],
)
def test_a_host_inside_that_the_server_has_no_part_in_is_refused(addresses: list[str], own: list[str]) -> None:
    with pytest.raises(AddressRefused):
        check_place("auth.example.com", addresses, own)
