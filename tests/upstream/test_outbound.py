from __future__ import annotations

import pytest

from toolcrib.errors import ValidationError
from toolcrib.model.addresses import is_public_address
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.upstream.outbound import check_outbound

CHOSEN = {
    "dev": ServerSpec("dev", RemoteLaunch("http://127.0.0.1:3000/mcp")),
    "local": ServerSpec("local", StdioLaunch("x")),
    "odd": ServerSpec("odd", RemoteLaunch("${URL}")),
}


async def resolved(_: str, __: int) -> list[str]:
    return ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.8",
        "172.16.1.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:7f00:1::1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:0:127.0.0.1",
        "::ffff:0:808:808",
        "192.0.0.8",
        "192.0.0.192",
        "168.63.129.16",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "100::1",
        "localhost",
        "",
    ],
)
def test_addresses_that_not_everyone_can_reach_are_not_public(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "168.63.129.17", "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize("url", ["https://example.com/mcp", "https://example.com:8443/", "https://example.com:80/"])
async def test_an_encrypted_public_address_may_be_asked(url: str) -> None:
    await check_outbound(url, CHOSEN, resolve=resolved)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/mcp",
        "https://127.0.0.1/mcp",
        "https://127.0.0.1:3001/mcp",
        "http://127.0.0.1:8665/mcp",
        "https://[::1]/mcp",
        "https://169.254.169.254/latest/meta-data",
        "https://example.com:22/",
        "https://0x7f000001/",
        "https://2130706433/",
        "ftp://example.com/",
        "https:///mcp",
        "https://example.com:99999/",
        "https://example.com:x/",
        "https://[::1/mcp",
    ],
)
async def test_anything_else_is_refused(url: str) -> None:
    # No name is looked up here: these are addresses, or wrong before that.
    with pytest.raises(ValidationError):
        await check_outbound(url, CHOSEN)


async def test_one_private_address_of_a_name_is_enough_to_refuse_it() -> None:
    async def mixed(_: str, __: int) -> list[str]:
        return ["93.184.216.34", "10.0.0.1"]

    async def nothing(_: str, __: int) -> list[str]:
        return []

    for resolve in (mixed, nothing):
        with pytest.raises(ValidationError):
            await check_outbound("https://example.com/", {}, resolve=resolve)


async def test_a_host_and_port_the_person_configured_is_fine() -> None:
    await check_outbound("http://127.0.0.1:3000/other", CHOSEN)
