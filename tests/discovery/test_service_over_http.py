"""The discovery service against real HTTP servers: sessions, credentials, statuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.discovery.desk import Desk, FakeRegistry, desk
from tests.fakes import spec, tool
from tests.upstream.http_servers import Out, Script, SdkServer, Seen, serve, unused_address
from toolcrib import DiscoveryOptions, MCPDiscoveryProvider, Settings, open_discovery
from toolcrib.errors import (
    AuthenticationFailed,
    NeedsConfiguration,
    RateLimited,
    ServerConnectionError,
    ToolsListFailed,
)
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.upstream.link import TransportLimits
from toolcrib.upstream.opener import LinkOpener
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND

INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}


class Legacy:
    """A server of the handshake era with sessions; the first answers to `tools/list` may be statuses."""

    def __init__(self, *statuses: int, **headers: str) -> None:
        self.statuses = list(statuses)
        self.headers = headers
        self.script = Script(self.answer)

    async def answer(self, seen: Seen, out: Out) -> None:
        match seen.rpc:
            case "initialize":
                await out.send(200, seen.answer(INITIALIZED), mcp_session_id="s1")
            case "tools/list" if self.statuses:
                status = self.statuses.pop(0)
                body = seen.error(INTERNAL_ERROR, "no") if status == 200 else b""
                await out.send(status, body, **self.headers)
            case "tools/list":
                await out.send(200, seen.answer({"tools": [tool("read")]}))
            case "GET":
                await out.send(405)
            case "DELETE":
                await out.send(204)
            case _ if "id" in seen.message:
                await out.send(200, seen.error(METHOD_NOT_FOUND, "not here"))
            case _:
                await out.send(202)

    def sessions(self, rpc: str) -> list[str]:
        return [seen.headers.get("mcp-session-id", "") for seen in self.script.of(rpc)]


@asynccontextmanager
async def over_http(
    tmp_path: Path, *configured: ServerSpec, env: Mapping[str, str] | None = None, **parts: Any
) -> AsyncIterator[Desk]:
    opener = LinkOpener(
        env=env or {}, logs_dir=tmp_path, limits=lambda: TransportLimits(connect_seconds=2), user_agent="test"
    )
    async with desk(opener, *configured, **parts) as us:
        yield us


def at(url: str, name: str = "remote", **more: Any) -> ServerSpec:
    return spec(name, launch=RemoteLaunch(url, **more))


async def test_a_session_is_opened_used_and_ended(tmp_path: Path) -> None:
    legacy = Legacy()
    async with serve(legacy.script) as url, over_http(tmp_path) as us:
        (found,) = await us.service.discover_tools(at(url))

        assert found.tool_name == "read"
        assert legacy.sessions("tools/list") == ["s1"]
        assert legacy.sessions("notifications/initialized") == ["s1"]
        assert legacy.sessions("DELETE") == ["s1"]
        assert json.loads(legacy.script.of("initialize")[0].body)["params"]["clientInfo"]["name"] == "toolcrib"


@pytest.mark.parametrize("status", [200, 500, 401])
async def test_a_session_is_ended_also_after_an_error(status: int, tmp_path: Path) -> None:
    legacy = Legacy(status)
    kinds = {200: ToolsListFailed, 500: ServerConnectionError, 401: AuthenticationFailed}
    async with serve(legacy.script) as url, over_http(tmp_path) as us:
        with pytest.raises(kinds[status]):
            await us.service.discover_tools(at(url))

        assert legacy.sessions("DELETE") == ["s1"]
        assert us.waits == []


@pytest.mark.parametrize("status", [429, 503])
async def test_a_status_that_may_pass_is_tried_again_after_the_time_the_server_asks_for(
    status: int, tmp_path: Path
) -> None:
    legacy = Legacy(status, status, retry_after="7")
    async with serve(legacy.script) as url, over_http(tmp_path) as us:
        assert len(await us.service.discover_tools(at(url))) == 1

        assert us.waits == [7.0, 7.0]


async def test_a_server_that_stays_busy_says_how_long_to_wait(tmp_path: Path) -> None:
    legacy = Legacy(*[429] * 4, retry_after="3")
    async with serve(legacy.script) as url, over_http(tmp_path) as us:
        with pytest.raises(RateLimited) as told:
            await us.service.discover_tools(at(url))

        assert told.value.retry_after_seconds == 3
        assert len(legacy.script.of("tools/list")) == 4


@pytest.mark.parametrize("status", [400, 403, 404, 500, 502, 504])
async def test_other_statuses_are_not_tried_again(status: int, tmp_path: Path) -> None:
    async def answer(_: Seen, out: Out) -> None:
        await out.send(status)

    async with serve(Script(answer)) as url, over_http(tmp_path) as us:
        (outcome,) = await us.service.discover_servers([at(url)])

        assert outcome.error is not None
        assert us.waits == []


async def test_a_connection_that_is_cut_is_tried_again_and_a_refused_one_is_not(tmp_path: Path) -> None:
    cuts = 0

    async def answer(seen: Seen, out: Out) -> None:
        nonlocal cuts
        if seen.rpc == "tools/list" and cuts < 1:
            cuts += 1
            await out.start(200, "application/json", content_length="100")
            return  # and nothing of the hundred bytes
        await Legacy().answer(seen, out)

    async with serve(Script(answer)) as url, over_http(tmp_path) as us:
        assert len(await us.service.discover_tools(at(url))) == 1
        assert us.waits == [1.0]
        with pytest.raises(ServerConnectionError, match="refused"):
            await us.service.discover_tools(at(unused_address()))
        assert us.waits == [1.0]


async def test_a_server_of_the_sdk_is_discovered(tmp_path: Path) -> None:
    app = SdkServer().streamable_app()
    async with serve(app) as url, over_http(tmp_path) as us:
        found = await us.service.discover_tools(at(f"{url}/mcp"))

    assert [one.tool_name for one in found] == ["echo", "noisy", "slow"]


# -- credentials


def authorization(legacy: Legacy) -> set[str]:
    return {seen.headers.get("authorization", "") for seen in legacy.script.seen}


TOKENS = {"MCP_AUTH_TOKEN": "generic", "GITHUB_MCP_TOKEN": "github", "GITHUB_TOKEN": "ci", "EMPTY_MCP_TOKEN": ""}


@pytest.mark.parametrize(
    ("name", "title", "token"),
    [
        ("github", "", "Bearer github"),
        ("modelcontextprotocol-github", "modelcontextprotocol/github", "Bearer github"),
        ("github-mcp-server", "", "Bearer github"),
        ("notes", "", "Bearer generic"),
        ("empty", "", "Bearer generic"),
    ],
)
async def test_a_server_gets_the_token_that_is_meant_for_it(name: str, title: str, token: str, tmp_path: Path) -> None:
    legacy = Legacy()
    async with serve(legacy.script) as url, over_http(tmp_path, env=TOKENS) as us:
        await us.service.discover_tools(spec(name, title=title, launch=RemoteLaunch(url)))

    assert authorization(legacy) == {token}


async def test_headers_given_with_the_call_replace_every_other_credential(tmp_path: Path) -> None:
    legacy = Legacy()
    entry = at("", headers={"authorization": "Bearer entry", "x-team": "blue"})
    async with serve(legacy.script) as url, over_http(tmp_path, env=TOKENS) as us:
        entry = at(url, headers=entry.launch.headers)
        given = DiscoveryOptions(auth_headers={"Authorization": "Bearer ${GITHUB_TOKEN}"})
        await us.service.discover_tools(entry, given)
        assert authorization(legacy) == {"Bearer ${GITHUB_TOKEN}"}  # as given, not looked up
        legacy.script.seen.clear()
        await us.service.with_auth_headers({"X-Key": "k"}).discover_tools(entry)

        assert authorization(legacy) == {""}
        assert {seen.headers["x-key"] for seen in legacy.script.seen} == {"k"}
        assert {seen.headers["x-team"] for seen in legacy.script.seen} == {"blue"}


async def test_a_provider_signs_in_to_its_own_server_and_no_other_is_told(tmp_path: Path) -> None:
    legacy = Legacy()
    async with serve(legacy.script) as url, over_http(tmp_path) as us:
        provider = MCPDiscoveryProvider(us.service, at(url), auth_headers={"Authorization": "Bearer mine"})
        assert await provider.discover_tools()
        assert authorization(legacy) == {"Bearer mine"}
        legacy.script.seen.clear()
        await us.service.discover_tools(at(url))
        assert authorization(legacy) == {""}


async def test_a_server_straight_from_a_registry_gets_no_token_whatever_it_is_called(tmp_path: Path) -> None:
    legacy = Legacy()
    registry = FakeRegistry()
    async with serve(legacy.script) as url:
        registry.offer(spec("github", launch=RemoteLaunch(url)))
        async with over_http(tmp_path, env=TOKENS, registry=registry, allow_private_addresses=True) as us:
            assert len(await us.service.discover_from_registry("github")) == 1

    assert authorization(legacy) == {""}


@pytest.mark.parametrize(
    "reference",
    ["${GITHUB_TOKEN}", "${env:GITHUB_TOKEN}", "${GITHUB_TOKEN:-x}", "${file:/etc/hostname}", "${keyring:a}"],
)
async def test_nothing_a_registry_writes_can_name_a_secret_of_this_machine(reference: str, tmp_path: Path) -> None:
    legacy = Legacy()
    registry = FakeRegistry()
    async with serve(legacy.script) as url:
        for number, launch in enumerate(
            (RemoteLaunch(url, {"x-want": reference}), RemoteLaunch(f"{url}/?want={reference}"))
        ):
            registry.offer(spec(f"evil{number}", launch=launch))
        async with over_http(tmp_path, env=TOKENS, registry=registry, allow_private_addresses=True) as us:
            configs = await us.service.find_servers_for_capability("evil")
            outcomes = await us.service.discover_servers(configs)

    assert [type(outcome.error) for outcome in outcomes] == [NeedsConfiguration] * 2
    assert legacy.script.seen == []


# -- connections and waits


class Busy:
    """A server of the handshake era that refuses the list of its tools so many times, and notes who connects."""

    def __init__(self, *refusals: int) -> None:
        self.refusals = list(refusals)
        self.ports: set[int] = set()
        self.script = Script(self._answer)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.ports.add(scope["client"][1])
        await self.script(scope, receive, send)

    async def _answer(self, seen: Seen, out: Out) -> None:
        match seen.rpc:
            case "initialize":
                await out.send(200, seen.answer({"protocolVersion": "2025-11-25", "capabilities": {}}))
            case "tools/list" if self.refusals:
                await out.send(self.refusals.pop(0))
            case "tools/list":
                await out.send(200, seen.answer({"tools": [tool("read")]}))
            case "server/discover":
                await out.send(200, seen.error(METHOD_NOT_FOUND, "not here"))
            case _:
                await out.send(202)


async def test_all_servers_share_one_http_client_and_its_connections() -> None:
    busy = Busy()
    async with asyncio.timeout(20), serve(busy) as url, open_discovery(settings=Settings()) as service:
        for name in ("one", "two", "three"):
            assert len(await service.discover_tools(at(f"{url}/{name}", name))) == 1

    assert {seen.path for seen in busy.script.seen} == {"/one", "/two", "/three"}
    assert len(busy.ports) == 1


async def test_a_server_that_is_busy_is_asked_again_after_growing_waits(tmp_path: Path) -> None:
    async with serve(Busy(429, 429, 429)) as url, over_http(tmp_path) as us:
        assert len(await us.service.discover_tools(at(url))) == 1

        assert us.waits == [1.0, 2.0, 4.0]
