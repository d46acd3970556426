"""Who is let in: every route, every way to be refused."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, cast

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server import Server

from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.server.admission import NotAdmitted, SharedToken
from toolcrib.server.guard import Guard, read_or_make_token
from toolcrib.server.http import HEALTH_PATH, build_app
from toolcrib.server.metrics_page import MetricsPage
from toolcrib.server.peer_pages import PeerPages

TOKEN = "kJ3-right_token"
GOOD = {"host": "127.0.0.1:8665", "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
STRANGERS = ["evil.example", "evil.example:8665", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", ""]
ORIGINS = [
    "https://evil.example",
    "https://app.example.evil.example",
    # Another program of this machine, or another name for it.
    "http://127.0.0.1:3000",
    "http://127.0.0.1",
    "http://localhost:8665",
    "ftp://127.0.0.1:8665",
    "127.0.0.1:8665",
    "http://127.0.0.1:8665/page",
    "null",
    "",
]
CREDENTIALS = ["", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN]


# The guard lets nobody come so far that it would matter what they know.
NO_GATEWAY = cast(Gateway, None)
PAGES = [*PeerPages(NO_GATEWAY, list, lambda: None).routes(), MetricsPage(NO_GATEWAY, lambda: 0).route]


def guarded(host: str = "127.0.0.1", **settings: Any) -> Guard:
    app = build_app(Server("guarded"), lambda: Settings(**settings), host=host, token=TOKEN, more_routes=PAGES)
    assert isinstance(app, Guard)
    return app


def route_table(guard: Guard) -> Iterator[tuple[str, str]]:
    """Every method on every path that the app serves."""
    beside_mcp: Any = guard._app
    for route in (*beside_mcp._router.routes, *beside_mcp._app._app.routes):
        for method in getattr(route, "methods", None) or ("GET", "POST", "DELETE"):
            yield method, route.path


ROUTES = sorted(route_table(guarded()))


async def status(guard: Guard, method: str, path: str, headers: dict[str, str]) -> int:
    """What the guarded app answers; whatever gets past the guard to /mcp fails there, as nothing runs behind it."""
    transport = httpx2.ASGITransport(guard, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return (await client.request(method, path, headers=headers)).status_code


def test_the_route_table_is_the_endpoints_the_health_check_and_the_pages_beside_them() -> None:
    pages = {
        "/peers",
        "/p2p/cards",
        "/p2p/info",
        "/p2p/tool",
        "/agent/card",
        "/.well-known/agent-card.json",
        "/metrics",
    }
    assert {path for _, path in ROUTES} == {"/mcp", "/sse", "/messages", HEALTH_PATH, *pages}


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_no_route_answers_to_a_foreign_host_name(method: str, path: str) -> None:
    for host in STRANGERS:
        assert await status(guarded(), method, path, {**GOOD, "host": host}) == 421, host


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_no_route_answers_a_foreign_web_page(method: str, path: str) -> None:
    guard = guarded(http_allowed_origins=("https://app.example",))
    for origin in ORIGINS:
        assert await status(guard, method, path, {**GOOD, "origin": origin}) == 403, origin


@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("GET", "/"), ("POST", "/mcp/"), ("OPTIONS", "/mcp")])
async def test_every_route_but_the_health_check_asks_for_the_token(method: str, path: str) -> None:
    for credential in CREDENTIALS:
        headers = {**GOOD, "authorization": credential}
        assert await status(guarded(), method, path, headers) == (200 if path == HEALTH_PATH else 401), credential


@pytest.mark.parametrize("path", [HEALTH_PATH, "/metrics", "/sse", "/peers"])
async def test_the_endpoint_needs_the_token_wherever_it_is(path: str) -> None:
    headers = {"host": GOOD["host"], "content-type": "application/json"}
    assert await status(guarded(http_path=path), "POST", path, headers) == 401


async def test_a_token_in_the_address_is_no_token() -> None:
    headers = {"host": GOOD["host"]}
    assert await status(guarded(), "POST", f"/mcp?token={TOKEN}&access_token={TOKEN}", headers) == 401


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost", "LOCALHOST:8665", "[::1]", "[::1]:8665"])
async def test_the_loopback_names_are_served_on_any_port(host: str) -> None:
    assert await status(guarded(), "GET", HEALTH_PATH, {"host": host}) == 200


@pytest.mark.parametrize(
    ("listens_on", "host", "expected"),
    [
        ("fd00::7", "[fd00::7]:8665", 200),
        ("[fd00::7]", "[fd00::7]", 200),
        ("fd00::7", "[fd00::8]:8665", 421),
        ("fd00::7", "fd00::7", 421),
        ("192.0.2.5", "192.0.2.5:8665", 200),
        ("0.0.0.0", "192.0.2.5:8665", 421),
    ],
)
async def test_the_address_it_listens_on_is_served(listens_on: str, host: str, expected: int) -> None:
    assert await status(guarded(listens_on), "GET", HEALTH_PATH, {"host": host}) == expected


async def test_configured_hosts_are_served_with_or_without_a_port() -> None:
    guard = guarded(http_allowed_hosts=("Crib.example", "exact.example:9000"))
    served = {
        host: await status(guard, "GET", HEALTH_PATH, {"host": host})
        for host in ("crib.example", "crib.example:443", "exact.example:9000", "exact.example", "exact.example:9001")
    }
    assert served == {
        "crib.example": 200,
        "crib.example:443": 200,
        "exact.example:9000": 200,
        "exact.example": 421,
        "exact.example:9001": 421,
    }


@pytest.mark.parametrize("origin", ["https://app.example", "https://APP.example"])
async def test_a_configured_origin_is_served(origin: str) -> None:
    guard = guarded(http_allowed_origins=("https://App.example/",))
    assert await status(guard, "GET", HEALTH_PATH, {**GOOD, "origin": origin}) == 200


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8665", "http://127.0.0.1:8665"),
        ("LOCALHOST:8665", "http://localhost:8665"),
        ("[::1]:8665", "http://[::1]:8665"),
        ("crib.example", "https://crib.example"),
    ],
)
async def test_our_own_origin_is_served_and_needs_the_token_like_everybody(host: str, origin: str) -> None:
    guard = guarded(http_allowed_hosts=("crib.example",))
    page = {**GOOD, "host": host, "origin": origin}
    asking = {"host": host, "origin": origin, "access-control-request-method": "POST"}
    assert await status(guard, "GET", HEALTH_PATH, page) == 200
    assert await status(guard, "POST", "/mcp", {**page, "authorization": "Bearer wrong"}) == 401
    assert await status(guard, "OPTIONS", "/mcp", asking) == 401


async def test_a_browser_may_ask_without_a_token_only_from_a_configured_origin() -> None:
    guard = guarded(http_allowed_origins=("https://app.example",))
    asking = {"host": "localhost", "access-control-request-method": "POST"}
    assert await status(guard, "OPTIONS", "/mcp", {**asking, "origin": "https://app.example"}) == 200
    assert await status(guard, "OPTIONS", "/mcp", {**asking, "origin": "https://evil.example"}) == 403
    assert await status(guard, "OPTIONS", "/mcp", asking) == 401


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\0\r\n"), max_size=40))
async def test_no_other_text_is_taken_for_the_token(guess: str) -> None:
    passed: list[bool] = []

    async def app(*_: Any) -> None:
        passed.append(True)

    async def send(_: Any) -> None:
        pass

    guard = Guard(app, admission=SharedToken(TOKEN), hosts=["localhost"], origins=[])
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {guess}".encode("latin-1"))]
    await guard({"type": "http", "method": "POST", "path": "/mcp", "headers": headers}, send, send)
    assert bool(passed) == (guess.strip() == TOKEN)


async def test_a_websocket_is_closed_at_once() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in GOOD.items()]
    await guarded()({"type": "websocket", "path": "/mcp", "headers": headers}, send, send)  # type: ignore[arg-type]
    assert [message["type"] for message in sent] == ["websocket.close"]


# -- the token file


@pytest.mark.parametrize(("method", "expected"), [("GET", 200), ("POST", 405)])
async def test_nobody_waits_for_the_body_of_a_stranger(method: str, expected: int) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-length", b"1000000")]
    scope = {"type": "http", "method": method, "path": HEALTH_PATH, "query_string": b"", "headers": headers}
    async with asyncio.timeout(5):
        await guarded()(scope, receive, send)
    assert sent[0]["status"] == expected


def test_a_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "state" / "token"
    token = read_or_make_token(file)
    assert len(token) >= 40
    assert read_or_make_token(file) == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(file.parent) == ["token"]


def test_a_token_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("mine\n")
    file.chmod(0o644)
    assert read_or_make_token(file) == "mine"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "\n", " \t\r\n"])
def test_an_empty_token_file_is_filled_and_never_matches_an_empty_token(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(0o644)
    assert len(read_or_make_token(file)) >= 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer  "])
async def test_a_token_of_nothing_lets_nobody_in(authorization: str) -> None:
    with pytest.raises(NotAdmitted):
        await SharedToken("").admit(authorization)


def test_gateways_that_start_at_once_agree_on_one_token(tmp_path: Path) -> None:
    gate = Barrier(8)

    def start(file: Path) -> str:
        gate.wait(10)
        return read_or_make_token(file)

    with ThreadPoolExecutor(8) as threads:
        for attempt in range(20):
            file = tmp_path / str(attempt) / "token"
            assert set(threads.map(start, [file] * 8)) == {file.read_text().strip()}


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", "schl\u00fcssel".encode()])
def test_a_token_file_that_is_no_text_is_reported_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError) as refused:
        read_or_make_token(file)
    assert str(file) in refused.value.message
    assert file.read_bytes() == content


def test_a_state_folder_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(ConfigurationError, match="can't be kept"):
        read_or_make_token(tmp_path / "state" / "token")
