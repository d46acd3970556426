"""Whatever a client sends: no traceback, no 500, and the next request is answered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.http_gateway import RunningGateway, gateway_process, write_config
from tests.journeys.odd_messages import HELLO, MODERN_META, OddMessages
from tests.journeys.stdio_gateway import Workshop

LINES = 1_500
REQUESTS = 500
BROKEN_REQUESTS = 100
OPENINGS: dict[str, dict[str, Any]] = {
    "none": {"id": "first", "method": "ping", "params": {}},
    "legacy": {"id": "first", "method": "initialize", "params": HELLO},
    "modern": {"id": "first", "method": "tools/list", "params": {"_meta": MODERN_META}},
}


@pytest.mark.parametrize("opening", OPENINGS)
async def test_no_line_on_standard_input_makes_a_traceback_or_ends_the_connection(workshop: Workshop, opening: str):
    workshop.configure({"scripted": workshop.scripted("scripted")})
    odd = OddMessages(seed=20261115)

    async with workshop.lines() as client:
        client.send(OPENINGS[opening])
        await client.answer("first")
        client.send(*(odd.line() for _ in range(LINES)))
        # Which era the odd lines settled on is not known, but each of these is answered in one of the two.
        client.send({"id": "last", "method": "tools/list", "params": {"_meta": MODERN_META}})
        await client.answer("last")
        assert await client.leave() == 0

    assert workshop.complaints == ""


async def test_no_request_over_http_makes_a_traceback_or_a_fault_of_ours(
    tmp_path: Path, process_environment: dict[str, str], workshop: Workshop
):
    servers = {"scripted": workshop.scripted("scripted").entry()}
    config = write_config(tmp_path, servers)
    odd = OddMessages(seed=20261115)

    with gateway_process(tmp_path, config, process_environment) as gateway:
        async with httpx2.AsyncClient(timeout=20) as http:
            session = await _session(http, gateway)
            statuses = {await _odd_request(http, gateway, session, odd) for _ in range(REQUESTS)}
            for _ in range(BROKEN_REQUESTS):
                await _broken_request(gateway, odd)
            assert (await http.get(f"{gateway.origin}/health")).json() == {"status": "ok"}
        assert gateway.stop() == 0
        complaints = gateway.stderr

    assert {status for status in statuses if status >= 500} == set()
    assert len(statuses) > 3
    assert "Traceback" not in complaints


def _credentials(gateway: RunningGateway) -> dict[str, str]:
    accepted = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    return {**accepted, "authorization": f"Bearer {gateway.token}"}


async def _session(http: httpx2.AsyncClient, gateway: RunningGateway) -> str:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    answer = await http.post(gateway.url, headers=_credentials(gateway), json=hello)
    return answer.headers["mcp-session-id"]


async def _odd_request(http: httpx2.AsyncClient, gateway: RunningGateway, session: str, odd: OddMessages) -> int:
    body = odd.line()
    headers = {**_credentials(gateway), **_era_headers(body, session, odd)}
    if odd.random.random() < 0.1:
        headers[odd.random.choice([*headers, "last-event-id", "mcp-param-x"])] = odd.random.choice(["", "x", "é", "1"])
    method = odd.random.choice(["POST"] * 9 + ["GET", "PUT", "OPTIONS", "HEAD"])
    sent = {name: value.encode("latin-1", "replace") for name, value in headers.items()}
    content = body if method in ("POST", "PUT") else None
    async with http.stream(method, gateway.url, headers=sent, content=content) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            await answer.aread()
        return answer.status_code


def _era_headers(body: bytes, session: str, odd: OddMessages) -> dict[str, str]:
    if odd.random.random() < 0.5:
        return {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    try:
        message = json.loads(body)
    except ValueError:
        return {}
    if not isinstance(message, dict):
        return {}
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    mirrored = {"mcp-method": message.get("method"), "mcp-name": name}
    printable = {key: value for key, value in mirrored.items() if isinstance(value, str) and value.isprintable()}
    return {"mcp-protocol-version": "2026-07-28", **printable}


async def _broken_request(gateway: RunningGateway, odd: OddMessages) -> None:
    """Bytes that are hardly HTTP, or a body that ends too early; the connection is then closed from this side."""
    url = httpx2.URL(gateway.url)
    length = odd.random.choice(["5", "10", "-1", "x", str(2**63), "0"])
    headers = "".join(f"{name}: {value}\r\n" for name, value in _credentials(gateway).items())
    request = f"POST /mcp HTTP/1.1\r\nhost: {url.host}:{url.port}\r\n{headers}content-length: {length}\r\n\r\nhello"
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        writer.write(odd.damaged(request.encode(), chance=0.7))
        writer.write_eof()
        async with asyncio.timeout(10):
            await reader.read()
    except OSError:
        pass  # it was refused so soon that we could not finish
    finally:
        writer.close()
