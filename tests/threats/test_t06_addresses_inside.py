"""T6: no address that a stranger supplies leads into our own network, whatever its name says the second time."""

from __future__ import annotations

import ast
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import toolcrib
from tests.upstream.http_servers import Out, Script, Seen, serve
from toolcrib.engine.adapters import unapproved
from toolcrib.engine.adapters.unapproved import OutboundCheck
from toolcrib.errors import ToolcribError
from toolcrib.model.server import FROM_REGISTRY, Origin, RemoteLaunch, ServerSpec
from toolcrib.signin.addresses import AddressRefused
from toolcrib.upstream.outbound import check_outbound
from toolcrib.upstream.sign_in_http import SignInHttp

PUBLIC = "93.184.216.34"


@pytest.fixture
def inside() -> Iterator[socket.socket]:
    """A service on this machine that notices who knocks."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        yield listener


def nobody_knocked(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except TimeoutError:
        return True
    return False


async def test_t06_the_address_that_was_checked_is_the_one_connected_to(inside: socket.socket) -> None:
    """A name server that says something public when we check, and 127.0.0.1 when we connect."""
    answers = {"api.example": [[PUBLIC]], "auth.example": [[PUBLIC], ["127.0.0.1"]]}

    async def resolve(host: str, _port: int) -> list[str]:
        return answers[host].pop(0) if len(answers[host]) > 1 else answers[host][0]

    port = inside.getsockname()[1]
    async with SignInHttp("https://api.example/mcp", connect_seconds=2, resolve=resolve) as http:
        with pytest.raises(AddressRefused, match="leads into your own network"):
            await http.post(f"https://auth.example:{port}/token", {"code": "secret"}, {})

    assert nobody_knocked(inside)


async def test_t06_a_server_from_a_registry_is_bound_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def checked(url: str, specs: object) -> list[str]:
        async def resolve(_host: str, _port: int) -> list[str]:
            return [PUBLIC]

        return await check_outbound(url, {}, resolve=resolve)

    monkeypatch.setattr(unapproved, "check_outbound", checked)
    spec = ServerSpec("maps", RemoteLaunch("https://maps.example/mcp"), origin=Origin(FROM_REGISTRY))

    bound = await OutboundCheck(dict)(spec)

    assert isinstance(bound.launch, RemoteLaunch)
    assert bound.launch.addresses == (PUBLIC,)
    assert bound.launch_key == spec.launch_key


async def test_t06_a_redirect_inside_is_not_followed() -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.send(302, location="http://169.254.169.254/latest/meta-data")

    script = Script(answer)
    async with serve(script) as address, SignInHttp(f"{address}/mcp") as http:
        answered = await http.get(f"{address}/.well-known/oauth-authorization-server")
        assert answered.status_code == 302
        with pytest.raises(AddressRefused):
            await http.send(httpx2.Request("GET", answered.headers["location"]))
    assert [seen.path for seen in script.seen] == ["/.well-known/oauth-authorization-server"]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.0.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://0.0.0.0/",
        "https://224.0.0.1/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://user:word@example.com/",
        "https://example.com:22/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "https:///nothing",
    ],
)
async def test_t06_hostile_addresses_are_asked_by_nobody(url: str) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        # What the machine makes of odd spellings; names are public, and nothing is looked up on the network.
        if host == "example.com":
            return [PUBLIC]
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(entry[4][0]) for entry in found]

    with pytest.raises(ToolcribError):
        await check_outbound(url, {}, resolve=resolve)


# Each place that opens a connection to somewhere else, with what decides where that is.
WAYS_OUT = {
    "upstream/http_client.py": "makes every client; with `places` for an address that others gave us",
    "upstream/checked_network.py": "connects where `places` says, to the address that was checked",
    "upstream/http_links.py": "the person's entry; for what nobody approved, the addresses that were checked",
    "upstream/web.py": "a client without `places`, for the two below",
    "engine/live_registry.py": "registry.urls of the person; redirects stay there",
    "engine/listed_addresses.py": "peers.scan of the person; redirects stay there",
    "upstream/sign_in_http.py": "what a server says of its sign-in, checked when it is named and when it is connected to",
    "upstream/bearers.py": "the same, for tokens that are renewed",
    "engine/sign_ins.py": "the same, for a sign-in of the person",
    "engine/issuer_documents.py": "the same, beside the issuer that the person names",
    "upstream/peer_http.py": "literal addresses of neighbours, or what the person wrote; no name, no redirect, one certificate",
    "upstream/peer_https.py": "the same, of a peer that is trusted",
    "upstream/sandbox_proxy.py": "sandbox.network of the person; a name of the open network does not lead inside",
    "lan/dns_sd.py": "multicast on the interfaces of the person",
    "libp2p_node/finding.py": "multicast, and peers.bootstrap of the person",
    "libp2p_node/roads.py": "multiaddresses that `usable_multiaddresses` let through, or what the person wrote",
    "libp2p_node/node.py": "listens, and hands on to the roads",
    "libp2p_node/streams.py": "hands on to the roads",
}
OPENERS = frozenset(
    """
    AsyncClient AsyncHTTPTransport HTTPTransport AsyncConnectionPool ConnectionPool connect_tcp open_connection
    create_connection create_datagram_endpoint sock_connect urlopen HTTPConnection HTTPSConnection open_http_client open_web
    peer_client SignInHttp Zeroconf AsyncZeroconf new_host
    """.split()
)
OTHER_CLIENTS = re.compile(
    r"^\s*(?:import|from) (?:urllib\.request|http\.client|requests|aiohttp|httpx|urllib3|ftplib|smtplib)\b",
    re.MULTILINE,
)


def opens_something(text: str) -> bool:
    if not any(name in text for name in (*OPENERS, "connect(")):
        return False
    for node in ast.walk(ast.parse(text)):
        function = node.func if isinstance(node, ast.Call) else None
        named = function if function is not None else node
        name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
        # Some are handed on to a thread that calls them.
        if (function is not None and name in OPENERS) or name == "open_http_client":
            return True
    return False


def test_t06_every_way_out_is_known() -> None:
    """A new one fails here: say what decides about its address, and see to it that a stranger does not."""
    source = Path(toolcrib.__file__).parent
    texts = {str(module.relative_to(source)): module.read_text("utf-8") for module in source.rglob("*.py")}
    # A database and a Unix socket are connected to as well, but elsewhere.
    opening = {name for name, text in texts.items() if opens_something(text)}
    opening |= {name for name, text in texts.items() if name.startswith("libp2p_node/") and ".connect(" in text}

    assert opening == WAYS_OUT.keys()
    assert {name for name, text in texts.items() if OTHER_CLIENTS.search(text)} == set()
