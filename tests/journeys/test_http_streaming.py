"""What passes between client and server while a call runs over HTTP: progress, log messages, cancellation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp_types import LoggingMessageNotificationParams

from tests.journeys.http_gateway import BOUND_SECONDS, MODES, RunningGateway, connect, gateway_beside, write_config
from tests.journeys.http_upstream import LEVELS, Clinic
from tests.journeys.stdio_gateway import execute

# Logging is deprecated in the newest revision, and alive.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

ERAS = ("legacy", "modern")
FOREVER = {"server": "clinic", "tool": "wait_forever", "arguments": {}}


@asynccontextmanager
async def clinic_behind_gateway(
    folder: Path, environment: dict[str, str], era: str
) -> AsyncIterator[tuple[Clinic, RunningGateway]]:
    clinic = Clinic(era=era)
    async with clinic.serving() as url:
        config = write_config(folder, {"clinic": {"type": "http", "url": url}})
        async with gateway_beside(folder, config, environment) as gateway:
            yield clinic, gateway


class Ear:
    """A logging callback that remembers."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []

    async def __call__(self, params: LoggingMessageNotificationParams) -> None:
        self.heard.append((params.level, params.data))


def at_or_above(level: str) -> list[tuple[str, str]]:
    return [(name, f"heard at {name}") for name in LEVELS[LEVELS.index(level) :]]


@pytest.mark.parametrize("era", ERAS)
async def test_log_messages_reach_each_client_at_the_level_it_asked_for(
    tmp_path: Path, process_environment: dict[str, str], era: str
) -> None:
    old, new, silent = Ear(), Ear(), Ear()
    async with clinic_behind_gateway(tmp_path, process_environment, era) as (_, gateway):
        async with connect(gateway, "legacy", logging_callback=old) as client:
            assert client.server_capabilities.logging is not None
            await client.set_logging_level("warning")
            await execute(client, "clinic", "gossip")
        async with connect(gateway, "auto", logging_callback=new, log_level="error") as client:
            await execute(client, "clinic", "gossip")
        async with connect(gateway, "auto", logging_callback=silent) as client:
            await execute(client, "clinic", "gossip")
    assert old.heard == at_or_above("warning")
    assert new.heard == at_or_above("error")
    assert silent.heard == []


@pytest.mark.parametrize("mode", MODES)
async def test_progress_of_calls_side_by_side_goes_to_whoever_made_the_call(
    tmp_path: Path, process_environment: dict[str, str], mode: str
) -> None:
    async with (
        clinic_behind_gateway(tmp_path, process_environment, "modern") as (clinic, gateway),
        connect(gateway, mode) as client,
    ):
        heard = await asyncio.gather(*(count_patients(client) for _ in range(8)))
    assert heard == [[(float(step), 5.0, f"patient {step}") for step in range(1, 6)]] * 8
    assert all(meta.keys() == {"progressToken"} for meta in map(without_hop_keys, clinic.metas))
    assert clinic.credentials == {None}  # the token that let the client in goes no further


async def count_patients(client: Client) -> list[tuple[float, float | None, str | None]]:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    call = {"server": "clinic", "tool": "count_patients", "arguments": {}}
    await client.call_tool("execute_tool", call, progress_callback=hear)
    return heard


def without_hop_keys(meta: Any) -> dict[str, Any]:
    return {key: value for key, value in meta.items() if not key.startswith("io.modelcontextprotocol/")}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_the_client_cancels_is_cancelled_on_the_server(
    tmp_path: Path, process_environment: dict[str, str], mode: str, era: str
) -> None:
    async with (
        clinic_behind_gateway(tmp_path, process_environment, era) as (clinic, gateway),
        connect(gateway, mode) as client,
        asyncio.timeout(BOUND_SECONDS),
    ):
        call = asyncio.create_task(client.call_tool("execute_tool", FOREVER))
        await under_way(call, clinic)
        call.cancel()
        await clinic.cancelled.wait()
        assert (await execute(client, "clinic", "repeat", text="still there")).is_error is False
        assert '"CANCELLED"' in (gateway.home / "audit.jsonl").read_text()


async def test_a_client_that_hangs_up_cancels_its_call_on_the_server(
    tmp_path: Path, process_environment: dict[str, str]
) -> None:
    async with clinic_behind_gateway(tmp_path, process_environment, "modern") as (clinic, gateway):
        post = asyncio.create_task(modern_call(gateway, "execute_tool", FOREVER))
        async with asyncio.timeout(BOUND_SECONDS):
            await under_way(post, clinic)
            post.cancel()
            await clinic.cancelled.wait()
            with pytest.raises(asyncio.CancelledError):
                await post


async def test_a_session_that_ends_takes_its_calls_along(tmp_path: Path, process_environment: dict[str, str]) -> None:
    async with clinic_behind_gateway(tmp_path, process_environment, "modern") as (clinic, gateway):
        async with connect(gateway, "legacy") as client, asyncio.timeout(BOUND_SECONDS):
            call = asyncio.create_task(client.call_tool("execute_tool", FOREVER))
            await under_way(call, clinic)
        async with asyncio.timeout(BOUND_SECONDS):
            await clinic.cancelled.wait()
        (ended,) = await asyncio.gather(call, return_exceptions=True)
    assert isinstance(ended, BaseException)


async def under_way(call: asyncio.Task[Any], clinic: Clinic) -> None:
    """Wait until the call has reached the server; one that ended before it did fails the test with what it said."""
    started = asyncio.create_task(clinic.started.wait())
    await asyncio.wait({call, started}, return_when=asyncio.FIRST_COMPLETED)
    assert started.done(), call.result()


async def modern_call(gateway: RunningGateway, name: str, arguments: dict[str, Any]) -> httpx2.Response:
    """One bare POST in the newest revision; to cancel it is to drop the connection."""
    version = "2026-07-28"
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    headers = {
        "authorization": f"Bearer {gateway.token}",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": version,
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with httpx2.AsyncClient(timeout=BOUND_SECONDS) as http:
        return await http.post(gateway.url, headers=headers, content=json.dumps(message))
