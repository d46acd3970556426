"""Requirements of seeds 000 and 003 that no other test shows; docs/mission.md says which test shows which."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from tests.discovery.desk import POLICY, Desk, desk
from tests.fakes import FakeServer, FakeServers, eventually, spec, tool
from tests.upstream.http_servers import Out, Script, SdkServer, Seen, serve
from toolcrib import DiscoveryOptions, Gateway, RetryPolicy, Settings, load_settings, open_discovery, open_gateway
from toolcrib.ccos.contracts import fallback_tools
from toolcrib.config.paths import Paths
from toolcrib.errors import ServerConnectionError, Timeout
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.upstream.opener import LinkOpener, TransportLimits
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "toolcrib"


def at(url: str, name: str = "remote") -> ServerSpec:
    return spec(name, launch=RemoteLaunch(url))


# -- one service


def modules_with(pattern: str) -> set[str]:
    return {
        str(file.relative_to(SOURCE).with_suffix(""))
        for file in SOURCE.rglob("*.py")
        if re.search(pattern, file.read_text(encoding="utf-8"))
    }


def test_servers_are_read_in_one_place_only() -> None:
    """Every visit is made by `ServerReads`, and the wiring makes one of those for the service and the background alike."""
    assert modules_with(r"\.visit\(") == {"discovery/reads"}
    assert len(modules_with(r"\bServerReads\(")) == 1
    assert {module.split("/")[0] for module in modules_with(r"from toolcrib\.upstream\b")} == {"upstream", "engine"}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("toolcrib.discovery.service", "MCPDiscoveryService"),
        ("toolcrib.upstream.session", "Session"),
        ("toolcrib.registry.client", "RegistryClient"),
        ("toolcrib.discovery.cache", "MCPCache"),
        ("toolcrib.limits.rate", "RateLimiter"),
        ("toolcrib.discovery.options", "DiscoveryOptions"),
        ("toolcrib.discovery.results", "DiscoveredMCPTool"),
    ],
)
def test_each_part_of_the_service_has_a_module_of_its_own(module: str, name: str) -> None:
    assert getattr(importlib.import_module(module), name).__module__ == module


def test_the_service_has_more_tests_than_the_seed_asks_for() -> None:
    files = [*(ROOT / "tests" / "discovery").glob("test_*.py"), *(ROOT / "tests" / "limits").glob("test_*.py")]
    tests = [
        name for file in files for name in re.findall(r"^(?:async )?def test_", file.read_text("utf-8"), re.MULTILINE)
    ]

    assert len(tests) >= 26


def test_the_cache_lies_in_a_folder_of_the_platform_and_not_in_the_working_directory() -> None:
    folder = Paths.of({}).cache_dir

    assert folder.is_absolute()
    assert Path.cwd() not in (folder, *folder.parents)


# -- over HTTP


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


@asynccontextmanager
async def over_http(tmp_path: Path) -> AsyncIterator[Desk]:
    opener = LinkOpener(env={}, logs_dir=tmp_path, limits=TransportLimits(connect_seconds=2), user_agent="test")
    async with desk(opener) as us:
        yield us


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


async def test_a_server_that_never_answers_is_a_timeout_of_the_seed() -> None:
    async def hang(_: dict[str, Any]) -> Mapping[str, Any]:
        await asyncio.get_running_loop().create_future()
        return {}

    servers = FakeServers(FakeServer("files", methods={"tools/list": hang}))
    async with desk(servers, policy=replace(POLICY, call_seconds=0.05)) as us:
        with pytest.raises(Timeout):
            await us.service.discover_tools(spec("files"), DiscoveryOptions(retry_policy=RetryPolicy(max_retries=0)))


async def test_a_handshake_names_version_capabilities_and_client_and_the_list_is_asked_for_with_nothing() -> None:
    server = FakeServer("files", [tool("read")], era="legacy", version="7")
    async with open_discovery(settings=Settings(), opener=FakeServers(server)) as service:
        await service.discover_tools(spec("files"))
        identity = service.identity(spec("files"))

    heard = dict(server.heard)
    client = heard["initialize"].pop("clientInfo")
    assert (client["name"], sorted(client)) == ("toolcrib", ["name", "version"])
    assert sorted(heard["initialize"].pop("capabilities")) == ["elicitation", "roots", "sampling"]
    assert heard["initialize"] == {"protocolVersion": LATEST_HANDSHAKE_VERSION}
    assert heard["tools/list"] == {}
    assert identity is not None
    assert (identity.server_info, identity.capabilities) == ({"name": "files", "version": "7"}, {"tools": {}})


# -- external endpoints of a Praxis file


def praxis(tmp_path: Path, url: str = "http://localhost:3000/mcp", more: str = "") -> Settings:
    agent = tmp_path / "agent.yaml"
    agent.write_text(f"agent:\n  name: a\n  external_mcp_endpoints: ['{url}']\n{more}", "utf-8")
    own = tmp_path / "toolcrib.yaml"
    own.write_text(f"discovery:\n  sources:\n    - {{type: praxis, path: '{agent}'}}\n", "utf-8")
    return load_settings(own)


async def test_endpoints_are_read_as_soon_as_the_gateway_starts(tmp_path: Path) -> None:
    endpoint = FakeServer("localhost-3000", [tool("echo")])
    async with asyncio.timeout(20), open_gateway(settings=praxis(tmp_path), opener=FakeServers(endpoint)):
        await eventually(lambda: endpoint.count("tools/list"))

    assert (endpoint.starts, endpoint.count("tools/list")) == (1, 1)


async def test_endpoints_of_an_agent_without_mcp_are_left_alone(tmp_path: Path) -> None:
    endpoint = FakeServer("localhost-3000", [tool("echo")])
    settings = praxis(tmp_path, more="mcp: {enabled: false}\n")
    async with open_gateway(settings=settings, opener=FakeServers(endpoint)) as gateway:
        assert await gateway.list_servers() == []
        assert await gateway.list_tools("localhost-3000") == []
    assert endpoint.starts == 0


async def tools_of_the_only_server(gateway: Gateway) -> list[str]:
    (server,) = await gateway.list_servers()
    return [found.name for found in await gateway.list_tools(server.name)]


async def test_what_an_endpoint_offered_is_known_to_the_next_start(tmp_path: Path) -> None:
    settings = praxis(tmp_path)
    endpoint = FakeServer("localhost-3000", [tool("echo"), {"description": "no name"}])
    async with open_gateway(settings=settings, opener=FakeServers(endpoint)) as gateway:
        assert await tools_of_the_only_server(gateway) == ["echo_external"]
    async with open_gateway(settings=settings, opener=FakeServers()) as gateway:
        assert await tools_of_the_only_server(gateway) == ["echo_external"]


async def on_a_stream(seen: Seen, out: Out) -> None:
    """Answers each request on an event stream of its own, as the servers of the seed do."""
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "serverInfo": {"name": "s", "version": "1"},
        },
        "tools/list": {"tools": [tool("echo")]},
        "tools/call": {"content": [{"type": "text", "text": "on a stream"}]},
    }
    if "id" not in seen.message:
        await out.send(202)
        return
    result = results.get(seen.rpc)
    await out.start()
    await out.event(seen.answer(result) if result else seen.error(METHOD_NOT_FOUND, "not here"))
    await out.end()


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_endpoints_are_probed_over_event_streams_of_both_kinds(path: str, tmp_path: Path) -> None:
    """At `/mcp` there is a stream for each request, at `/sse` one for all of them."""
    app = Script(on_a_stream) if path == "/mcp" else SdkServer().sse_app()
    async with asyncio.timeout(20), serve(app) as url, open_gateway(settings=praxis(tmp_path, url + path)) as gateway:
        assert "echo_external" in await tools_of_the_only_server(gateway)
        (server,) = await gateway.list_servers()
        done = await gateway.execute_tool(server.name, "echo_external", {"a": 1})

    assert done.value == ("on a stream" if path == "/mcp" else {"a": 1})
    if isinstance(app, Script):
        assert all("text/event-stream" in seen.headers["accept"] for seen in app.seen if seen.method == "POST")


async def test_an_endpoint_that_comes_later_is_found_at_the_next_call(tmp_path: Path) -> None:
    async def refuse() -> None:
        raise ServerConnectionError("not yet", server="localhost-3000")

    endpoint = FakeServer("localhost-3000", [tool("echo")], on_open=refuse)
    async with open_gateway(settings=praxis(tmp_path), opener=FakeServers(endpoint)) as gateway:
        assert len(await tools_of_the_only_server(gateway)) == 4
        endpoint.on_open = None
        assert (await gateway.execute_tool("localhost-3000", "echo_external", {})).success


def test_the_tools_that_stand_in_ask_for_the_parameters_the_seed_names() -> None:
    endpoint = replace(at("http://localhost:3000/mcp"), contract="remote-mcp")

    assert {one.name: one.input_schema["required"] for one in fallback_tools(endpoint)} == {
        "read_file": ["path"],
        "write_file": ["path", "content"],
        "list_directory": ["path"],
        "create_directory": ["path"],
    }
