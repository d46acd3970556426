"""Names that others gave us: looked up once, and connected to where they were checked."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.fakes import hearing
from tests.upstream.http_servers import Out, Script, Seen, serve
from toolcrib.errors import ServerConnectionError
from toolcrib.model.server import RemoteLaunch
from toolcrib.upstream.http_client import open_http_client
from toolcrib.upstream.http_links import HttpLinks
from toolcrib.upstream.link import TransportLimits


class Turns:
    """A name server that says something else each time, and the last thing for ever."""

    def __init__(self, *turns: list[str]) -> None:
        self._turns = list(turns)
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> list[str]:
        self.asked.append(host)
        return self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]


async def fine(seen: Seen, out: Out) -> None:
    await out.send(200, seen.answer({}) if seen.body else b"{}")


def client_to(places: Turns, seconds: float = 5) -> httpx2.AsyncClient:
    return open_http_client(user_agent="test", connect_seconds=seconds, places=places)


async def test_a_name_is_looked_up_once_and_the_request_goes_there_with_the_name() -> None:
    script = Script(fine)
    async with serve(script) as address:
        port = address.rpartition(":")[2]
        places = Turns(["127.0.0.1"], [])
        async with client_to(places) as client:
            assert (await client.get(f"http://name.invalid:{port}/a")).status_code == 200

    assert places.asked == ["name.invalid"]
    assert script.seen[0].headers["host"] == f"name.invalid:{port}"


async def test_where_the_first_address_does_not_answer_the_next_one_is_tried() -> None:
    async with serve(Script(fine)) as address:
        port = address.rpartition(":")[2]
        async with client_to(Turns(["127.0.0.9", "127.0.0.1"])) as client:
            assert (await client.get(f"http://name.invalid:{port}/")).status_code == 200


async def test_servers_that_never_answer_keep_no_other_one_waiting() -> None:
    asked, over = asyncio.Semaphore(0), asyncio.Event()

    async def slow(seen: Seen, out: Out) -> None:
        if seen.path != "/fast":
            asked.release()
            await over.wait()
        await out.send(200, b"{}")

    async with serve(Script(slow)) as address, client_to(Turns(["127.0.0.1"])) as client, asyncio.timeout(20):
        port = address.rpartition(":")[2]
        waiting = [asyncio.create_task(client.get(f"http://name{n}.invalid:{port}/", timeout=20)) for n in range(12)]
        try:
            assert (await client.get(f"http://name.invalid:{port}/fast", timeout=2)).status_code == 200
            for _ in waiting:
                await asked.acquire()
        finally:
            over.set()
            await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("addresses", [[], ["127.0.0.9"]])
async def test_a_name_that_leads_nowhere_is_a_failed_connection(addresses: list[str]) -> None:
    async with client_to(Turns(addresses)) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("http://name.invalid:1/")


async def test_a_loopback_address_is_no_way_around_the_check() -> None:
    script = Script(fine)
    async with serve(script) as address, client_to(Turns([])) as client:
        for host in ("127.0.0.1", "localhost"):
            with pytest.raises(httpx2.ConnectError):
                await client.get(address.replace("127.0.0.1", host))
    assert script.seen == []


async def test_a_server_nobody_approved_is_reached_where_its_name_was_checked_and_nowhere_else() -> None:
    script, links = Script(fine), HttpLinks("test")

    async def ping(host: str, *addresses: str) -> bytes:
        launch = RemoteLaunch(f"http://{host}:{port}/mcp", addresses=addresses)
        link = await links.open("far", launch, {}, hearing(lambda *_: None), TransportLimits(connect_seconds=2.0))
        try:
            return await link.request(1, "ping", b"{}", {})
        finally:
            await link.close()

    async with serve(script) as address:
        port = address.rpartition(":")[2]
        try:
            assert await ping("name.invalid", "127.0.0.1") == b"{}"
            with pytest.raises(ServerConnectionError):
                await ping("localhost", "127.0.0.9")
        finally:
            await links.close()

    assert {seen.headers["host"] for seen in script.of("ping")} == {f"name.invalid:{port}"}


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A certificate for pin.example that clients of this test believe."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("pin.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "pin.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return file


@asynccontextmanager
async def encrypted(certificate: Path, names: list[str]) -> AsyncIterator[int]:
    """A web server that notes the name in each handshake; its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _socket, name, _context: names.append(name)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_the_certificate_is_that_of_the_name_not_of_the_address(certificate: Path) -> None:
    names: list[str] = []
    async with encrypted(certificate, names) as port, client_to(Turns(["127.0.0.1"])) as client:
        assert (await client.get(f"https://pin.example:{port}/")).text == "ok"
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            await client.get(f"https://other.example:{port}/")
    assert names == ["pin.example", "other.example"]


async def test_a_proxy_of_the_environment_is_still_used(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(fine)
    async with serve(script) as address:
        monkeypatch.setenv("HTTP_PROXY", address)
        places = Turns([])
        async with client_to(places) as client:
            assert (await client.get("http://name.invalid/a")).status_code == 200
    assert places.asked == []
    assert script.seen[0].headers["host"] == "name.invalid"
