"""The discovery service over servers in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from tests.discovery.desk import POLICY, Desk, FakeRegistry, desk
from tests.fakes import FakeServer, FakeServers, eventually, spec, text, tool
from toolcrib import DiscoveryOptions, RateLimitConfig, RetryPolicy, Settings, open_discovery
from toolcrib.calls.chain import CallTool
from toolcrib.discovery.cache import CacheStats
from toolcrib.discovery.capability_sinks import CapabilitySinks
from toolcrib.discovery.results import DiscoveredMCPTool, MCPServerConfig, WarmStats
from toolcrib.errors import (
    ConnectionFailed,
    SchemaConversionFailed,
    ServerConnectionError,
    SessionInitFailed,
    Timeout,
    ToolsListFailed,
    ValidationError,
)
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError

CACHED = DiscoveryOptions(use_cache=True)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def refuse(code: int) -> Any:
    def answer(_: dict[str, Any]) -> Mapping[str, Any]:
        raise RpcError(code, "not today")

    return answer


def names(tools: list[DiscoveredMCPTool]) -> list[str]:
    return [found.tool_name for found in tools]


# -- options


def test_the_options_have_their_published_names_and_defaults() -> None:
    options = DiscoveryOptions()

    assert {field.name: getattr(options, field.name) for field in fields(options)} == {
        "introspect_output_schemas": False,
        "use_cache": False,
        "register_in_marketplace": False,
        "export_to_rtfs": False,
        "export_directory": None,
        "auth_headers": None,
        "retry_policy": RetryPolicy(),
        "rate_limit": RateLimitConfig(),
        "max_parallel_discoveries": 5,
        "lazy_output_schemas": True,
        "force_refresh": False,
        "create_approval_request": False,
        "deadline_seconds": None,
    }
    assert MCPServerConfig is ServerSpec


def test_credentials_in_the_options_are_not_shown() -> None:
    assert "hunter2" not in repr(DiscoveryOptions(auth_headers={"Authorization": "Bearer hunter2"}))


async def test_options_hold_for_their_call_only() -> None:
    async with desk(FakeServers(FakeServer("files", [tool("read")]))) as us:
        await us.service.discover_tools(spec("files"), CACHED)
        await us.service.discover_tools(spec("files"))

        assert us.service.options == DiscoveryOptions()
        assert us.cache.stats == CacheStats(hits=0, misses=1)


# -- one server


async def test_the_tools_of_a_server_are_discovered_with_all_it_says_of_them() -> None:
    definition = tool("read", "Reads a file.", inputSchema=SCHEMA, outputSchema={"type": "object"}, _meta={"x": 1})
    async with desk(FakeServers(FakeServer("files", [definition]))) as us:
        (found,) = await us.service.discover_tools(spec("files"))

    assert found == DiscoveredMCPTool("read", "Reads a file.", None, None, SCHEMA, {"type": "object"}, definition)


async def test_a_visit_to_a_server_that_is_not_configured_ends_with_the_answer() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with desk(servers) as us:
        await us.service.discover_tools(spec("files"))

        assert servers["files"].starts == 1
        assert servers["files"].open_links == []


@pytest.mark.parametrize("method", ["tools/list", "server/discover"])
async def test_a_visit_ends_also_after_an_error(method: str) -> None:
    server = FakeServer("files", methods={method: refuse(INTERNAL_ERROR), "initialize": refuse(INTERNAL_ERROR)})
    async with desk(FakeServers(server)) as us:
        with pytest.raises(ToolsListFailed if method == "tools/list" else SessionInitFailed):
            await us.service.discover_tools(spec("files"))

        assert server.starts == 1
        assert server.open_links == []


async def test_a_configured_server_keeps_the_connection_it_has() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with desk(servers, spec("files")) as us:
        await us.service.discover_tools(spec("files"))
        await us.service.discover_tools(spec("files"))

        assert (servers["files"].starts, len(servers["files"].open_links)) == (1, 1)


async def test_a_server_that_cannot_be_reached_is_a_connection_failure() -> None:
    async with desk(FakeServers()) as us:
        with pytest.raises(ConnectionFailed):
            await us.service.discover_tools(spec("gone"))
    assert Timeout.code == "TOOL_EXECUTION_TIMEOUT"


async def test_what_a_server_says_of_itself_is_kept() -> None:
    def introduce(_: dict[str, Any]) -> Mapping[str, Any]:
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "prompts": {}},
            "instructions": "Be kind.",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Files", "version": "7"}},
        }

    async with desk(FakeServers(FakeServer("files", [], methods={"server/discover": introduce}))) as us:
        assert us.service.identity(spec("files")) is None
        await us.service.discover_tools(spec("files"))
        identity = us.service.identity(spec("files"))

    assert identity.server_info == {"name": "Files", "version": "7"}
    assert (identity.capabilities, identity.instructions) == ({"tools": {}, "prompts": {}}, "Be kind.")


async def test_resources_and_prompts_are_discovered_over_all_pages() -> None:
    def pages(key: str, items: list[dict[str, Any]]) -> Any:
        def answer(params: dict[str, Any]) -> Mapping[str, Any]:
            at = int(params.get("cursor", 0))
            more = {"nextCursor": str(at + 1)} if at + 1 < len(items) else {}
            return {key: items[at : at + 1], **more}

        return answer

    resources = [{"uri": "file:///a", "name": "a", "size": 3}, {"uri": "file:///b", "name": "a"}, {"name": "no uri"}]
    prompts = [{"name": "summarise", "arguments": [{"name": "text"}]}, {"name": "translate"}]
    server = FakeServer(
        "files", methods={"resources/list": pages("resources", resources), "prompts/list": pages("prompts", prompts)}
    )
    async with desk(FakeServers(server)) as us:
        assert await us.service.discover_resources(spec("files")) == resources[:2]
        assert await us.service.discover_prompts(spec("files")) == prompts
        assert server.open_links == []


async def test_a_server_without_resources_and_prompts_has_none() -> None:
    async with desk(FakeServers(FakeServer("files"))) as us:
        assert await us.service.discover_resources(spec("files")) == []
        assert await us.service.discover_prompts(spec("files")) == []


# -- the cache


async def test_the_cache_answers_where_it_is_asked_and_the_server_rests(tmp_path: Path) -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with desk(servers, folder=tmp_path) as us:
        first = await us.service.discover_tools(spec("files"), CACHED)
        again = await us.service.discover_tools(spec("files"), CACHED)

        assert first == again
        assert servers["files"].starts == 1
    async with desk(FakeServers(), folder=tmp_path) as later:
        assert await later.service.discover_tools(spec("files"), CACHED) == first


async def test_without_being_asked_the_cache_is_filled_and_not_looked_at() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with desk(servers) as us:
        await us.service.discover_tools(spec("files"))
        await us.service.discover_tools(spec("files"))
        assert servers["files"].starts == 2
        await us.service.discover_tools(spec("files"), CACHED)
        assert servers["files"].starts == 2


async def test_a_refresh_can_be_forced_and_is_cached() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with desk(servers) as us:
        await us.service.discover_tools(spec("files"), CACHED)
        servers["files"].definitions = [tool("new")]
        forced = await us.service.discover_tools(spec("files"), replace(CACHED, force_refresh=True))

        assert names(forced) == names(await us.service.discover_tools(spec("files"), CACHED)) == ["new"]


async def test_an_old_answer_is_asked_for_anew() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with desk(servers) as us:
        await us.service.discover_tools(spec("files"), CACHED)
        us.clock.advance(86_401)
        await us.service.discover_tools(spec("files"), CACHED)

        assert servers["files"].starts == 2


async def test_a_server_of_the_same_name_that_is_launched_differently_is_read() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with desk(servers) as us:
        await us.service.discover_tools(spec("files"), CACHED)
        await us.service.discover_tools(spec("files", launch=RemoteLaunch("https://example.com")), CACHED)

        assert servers["files"].starts == 2


async def test_a_failure_is_not_cached() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")], methods={"tools/list": refuse(INVALID_PARAMS)}))
    async with desk(servers) as us:
        with pytest.raises(ToolsListFailed):
            await us.service.discover_tools(spec("files"), CACHED)
        servers["files"].methods.clear()

        assert names(await us.service.discover_tools(spec("files"), CACHED)) == ["read"]


# -- the bucket and retries


class Moody(FakeServers):
    """Cannot be opened the first so many times."""

    def __init__(self, failures: int, *servers: FakeServer) -> None:
        super().__init__(*servers)
        self.failures = failures
        self.attempts = 0

    async def __call__(self, config: ServerSpec, ears: Any) -> Any:
        self.attempts += 1
        if self.attempts <= self.failures:
            raise ServerConnectionError("the connection was cut", server=config.name, retryable=True)
        return await super().__call__(config, ears)


async def test_a_failure_that_may_pass_is_followed_by_another_attempt() -> None:
    servers = Moody(2, FakeServer("files", [tool("read")]))
    async with desk(servers) as us:
        assert names(await us.service.discover_tools(spec("files"))) == ["read"]

        assert us.waits == [1.0, 2.0]


async def test_when_all_attempts_fail_the_last_failure_is_told() -> None:
    servers = Moody(100, FakeServer("files"))
    async with desk(servers) as us:
        with pytest.raises(ServerConnectionError, match="cut"):
            await us.service.discover_tools(spec("files"))

        assert servers.attempts == 4


async def test_without_a_word_about_it_a_server_is_tried_four_times_after_1_2_and_4_seconds() -> None:
    servers = Moody(100, FakeServer("files"))
    async with desk(servers) as us:
        with pytest.raises(ServerConnectionError):
            await us.service.discover_tools(spec("files"), DiscoveryOptions())

        assert (servers.attempts, us.waits) == (4, [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("policy", "attempts", "waits"),
    [
        (RetryPolicy(max_retries=0), 1, []),
        (RetryPolicy(max_retries=2, initial_delay_ms=50, backoff_multiplier=10), 3, [0.05, 0.5]),
        (RetryPolicy(max_retries=3, initial_delay_ms=400, max_delay_ms=500), 4, [0.4, 0.5, 0.5]),
    ],
)
async def test_the_retry_policy_of_the_options_is_the_one_that_holds(
    policy: RetryPolicy, attempts: int, waits: list[float]
) -> None:
    servers = Moody(100, FakeServer("files"))
    async with desk(servers) as us:
        with pytest.raises(ServerConnectionError):
            await us.service.discover_tools(spec("files"), DiscoveryOptions(retry_policy=policy))

        assert (servers.attempts, us.waits) == (attempts, pytest.approx(waits))


async def test_every_attempt_takes_a_token_of_its_own() -> None:
    servers = Moody(2, FakeServer("files", [tool("read")]))
    slow = DiscoveryOptions(
        rate_limit=RateLimitConfig(0.01, 1), retry_policy=RetryPolicy(initial_delay_ms=1000, jitter_factor=0)
    )
    async with desk(servers) as us:
        await us.service.discover_tools(spec("files"), slow)

        assert us.waits == pytest.approx([1.0, 99.0, 2.0, 98.0])


async def test_readings_of_one_server_share_a_bucket_whatever_they_read() -> None:
    slow = DiscoveryOptions(rate_limit=RateLimitConfig(1.0, 2))
    async with desk(FakeServers(FakeServer("files"), FakeServer("web"))) as us:
        await us.service.discover_tools(spec("files"), slow)
        await us.service.discover_resources(spec("files"), slow)
        assert us.waits == []
        await us.service.discover_prompts(spec("files"), slow)
        assert us.waits == pytest.approx([1.0])
        await us.service.discover_tools(spec("web"), slow)
        assert us.waits == pytest.approx([1.0])


async def test_an_answer_of_the_cache_takes_no_token() -> None:
    frugal = replace(CACHED, rate_limit=RateLimitConfig(0.001, 1))
    async with desk(FakeServers(FakeServer("files"))) as us:
        for _ in range(5):
            await us.service.discover_tools(spec("files"), frugal)

        assert us.waits == []


async def test_a_server_that_does_not_answer_in_time_is_asked_again() -> None:
    async def hang(_: dict[str, Any]) -> Mapping[str, Any]:
        await asyncio.get_running_loop().create_future()
        return {}

    server = FakeServer("files", [tool("read")])
    server.answer_once("tools/list", hang)
    async with desk(FakeServers(server), policy=replace(POLICY, list_seconds=0.05)) as us:
        assert names(await us.service.discover_tools(spec("files"))) == ["read"]

        assert us.waits == [1.0]


async def test_what_is_left_out_of_a_list_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer("files", [{"description": "no name"}], methods={"prompts/list": lambda _: {"prompts": [7]}})
    async with desk(FakeServers(server)) as us:
        await us.service.discover_tools(spec("files"))
        await us.service.discover_prompts(spec("files"))

    assert "files: 1 of its tools left out: 1 without a name" in caplog.text
    assert "files: 1 of its prompts left out: 1 without a name" in caplog.text


async def test_a_server_that_answers_an_error_is_not_asked_again() -> None:
    server = FakeServer("files", methods={"tools/list": refuse(INTERNAL_ERROR)})
    async with desk(FakeServers(server)) as us:
        with pytest.raises(ToolsListFailed):
            await us.service.discover_tools(spec("files"))

        assert server.count("tools/list") == 1


# -- several servers


async def test_several_servers_are_read_at_once_and_one_that_fails_fails_alone() -> None:
    servers = FakeServers(FakeServer("a", [tool("x")]), FakeServer("b", [tool("y"), tool("z")]))
    async with desk(servers) as us:
        outcomes = await us.service.discover_servers([spec("b"), spec("gone"), spec("a")])

    assert [(outcome.config.name, names(list(outcome.tools))) for outcome in outcomes] == [
        ("b", ["y", "z"]),
        ("gone", []),
        ("a", ["x"]),
    ]
    assert [outcome.error is None for outcome in outcomes] == [True, False, True]


async def test_waiting_to_try_again_holds_no_place() -> None:
    gate = asyncio.Event()

    class Patient(Desk):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            await gate.wait()

    servers = Moody(1, FakeServer("a", [tool("x")]), FakeServer("b", [tool("y")]))
    us = Patient(servers)
    one_at_a_time = DiscoveryOptions(max_parallel_discoveries=1)
    finished: list[str] = []
    asking = asyncio.create_task(
        us.service.discover_servers(
            [spec("a"), spec("b")], one_at_a_time, finished=lambda outcome: finished.append(outcome.config.name)
        )
    )
    await eventually(lambda: finished == ["b"])
    gate.set()
    outcomes = await asyncio.wait_for(asking, 10)

    assert [names(list(outcome.tools)) for outcome in outcomes] == [["x"], ["y"]]


async def test_warming_counts_and_fills_the_cache() -> None:
    servers = FakeServers(FakeServer("a", [tool("x")]), FakeServer("b", [tool("y"), tool("z")]))
    async with desk(servers) as us:
        stats = await us.service.warm_cache_for_servers([spec("a"), spec("gone"), spec("b")])
        assert stats == WarmStats(total_servers=3, successful=2, failed=1, cached_tools=3)
        assert us.cache.get_tools("b") is not None
        again = await us.service.warm_cache_for_servers([spec("a"), spec("b")])

    assert again == WarmStats(2, 2, 0, 3)
    assert servers["a"].starts == 1


async def test_warming_nothing_is_nothing() -> None:
    async with desk(FakeServers()) as us:
        assert await us.service.warm_cache_for_servers([]) == WarmStats(0, 0, 0, 0)


async def test_all_configured_servers_can_be_warmed_and_no_tool_is_called() -> None:
    called: list[str] = []
    servers = FakeServers(FakeServer("a", [tool("get_x")]), FakeServer("off", [tool("y")]))
    eager = DiscoveryOptions(introspect_output_schemas=True, lazy_output_schemas=False)
    parts = {"introspector": Introspector(called)}
    async with desk(servers, spec("a"), spec("off", enabled=False), **parts) as us:
        stats = await us.service.warm_cache_for_all_configured_servers(eager)

    assert stats == WarmStats(1, 1, 0, 1)
    assert called == []


# -- the registry


def remote(name: str, url: str = "", **more: Any) -> ServerSpec:
    return spec(name, launch=RemoteLaunch(url or f"https://{name}.example.com/mcp"), **more)


async def test_a_search_of_the_registry_is_cached_for_an_hour() -> None:
    registry = FakeRegistry({"name": "maps"})
    async with desk(FakeServers(), registry=registry) as us:
        assert await us.service.search_registry_for_capability("maps", use_cache=True) == [{"name": "maps"}]
        await us.service.search_registry_for_capability("maps", use_cache=True)
        assert registry.queries == ["maps"]
        await us.service.search_registry_for_capability("maps", use_cache=False)
        assert registry.queries == ["maps"] * 2
        us.clock.advance(3601)
        await us.service.search_registry_for_capability("maps", use_cache=True)
        assert registry.queries == ["maps"] * 3


async def test_servers_of_the_registry_are_discovered_in_its_order_and_those_without_tools_left_out() -> None:
    registry = FakeRegistry({"name": "no address"})
    for name in ("maps", "empty", "gone", "routes"):
        registry.offer(remote(name))
    servers = FakeServers(
        FakeServer("maps", [tool("find")]), FakeServer("empty"), FakeServer("routes", [tool("go"), tool("stop")])
    )
    async with desk(servers, registry=registry) as us:
        found = await us.service.discover_from_registry("maps")

        assert [(config.name, names(tools)) for config, tools in found] == [
            ("maps", ["find"]),
            ("routes", ["go", "stop"]),
        ]
        assert {config.origin.source for config, _ in found} == {"registry"}
        assert servers["maps"].open_links == []


async def test_a_server_that_is_configured_too_is_reached_as_it_is_configured() -> None:
    registry = FakeRegistry()
    registry.offer(remote("maps", "https://impostor.example.com"))
    registry.offer(remote("com.example/routes", "https://routes.example.com/mcp"))
    mine = (remote("maps"), remote("my-routes", "https://routes.example.com/mcp"))
    servers = FakeServers(FakeServer("maps", [tool("find")]), FakeServer("my-routes", [tool("go")]))
    async with desk(servers, *mine, registry=registry) as us:
        found = await us.service.discover_from_registry("maps")

    assert [config for config, _ in found] == list(mine)


async def test_nothing_from_the_registry_is_started_and_our_own_network_is_not_visited() -> None:
    registry = FakeRegistry()
    registry.offer(spec("program"))
    for number, host in enumerate(("localhost", "127.0.0.1", "10.0.0.8", "[::1]", "169.254.169.254", "intranet")):
        registry.offer(remote(f"inside{number}", f"http://{host}/mcp"))
    servers = FakeServers(*(FakeServer(name, [tool("x")]) for name in registry.specs))
    async with desk(servers, registry=registry) as us:
        assert await us.service.discover_from_registry("x") == []
    assert all(servers[name].starts == 0 for name in registry.specs)


async def test_a_stranger_can_be_read_without_leaving_a_trace() -> None:
    servers = FakeServers(FakeServer("maps", [tool("find")]))
    async with desk(servers) as us:
        reading = await us.service.read_unapproved(remote("maps"))

        assert [definition["name"] for definition in reading.tools] == ["find"]
        assert servers["maps"].open_links == []
        assert us.cache.get_tools("maps") is None
        for refused in (spec("maps"), remote("maps", "http://127.0.0.1/")):
            with pytest.raises(ValidationError, match="not visited"):
                await us.service.read_unapproved(refused)
    assert servers["maps"].starts == 1


async def test_a_last_look_can_keep_us_from_a_stranger_and_from_nobody_else() -> None:
    looked: list[str] = []

    async def look(config: ServerSpec) -> ServerSpec:
        looked.append(config.name)
        raise ValidationError("its name leads inside")

    registry = FakeRegistry()
    registry.offer(remote("maps"))
    servers = FakeServers(FakeServer("maps", [tool("find")]), FakeServer("files", [tool("read")]))
    async with desk(servers, registry=registry, check_unapproved=look) as us:
        assert await us.service.discover_from_registry("maps") == []
        with pytest.raises(ValidationError, match="leads inside"):
            await us.service.read_unapproved(remote("maps"))
        assert len(await us.service.discover_tools(spec("files"))) == 1
    assert looked == ["maps", "maps"]
    assert servers["maps"].starts == 0


async def test_a_capability_is_looked_for_here_first_and_only_then_in_the_registry() -> None:
    registry = FakeRegistry()
    registry.offer(remote("elsewhere"))
    here = (spec("github"), spec("notes", capabilities=("mcp.memory.*",)), spec("github-off", enabled=False))
    async with desk(FakeServers(), *here, registry=registry) as us:
        find = us.service.find_servers_for_capability
        assert [one.name for one in await find("git")] == ["github"]
        assert [one.name for one in await find("mcp.GitHub.list_issues")] == ["github"]
        assert [one.name for one in await find("mcp.memory.store")] == ["notes"]
        assert registry.queries == []
        assert [one.name for one in await find("weather")] == ["elsewhere"]
        assert registry.queries == ["weather"]


async def test_without_a_registry_there_is_only_what_is_here() -> None:
    async with desk(FakeServers(), spec("github")) as us:
        assert await us.service.find_servers_for_capability("weather") == []
        with pytest.raises(ValidationError, match="without a registry"):
            await us.service.search_registry_for_capability("weather")
        with pytest.raises(ValidationError, match="without a registry"):
            await us.service.discover_from_registry("weather")


# -- types and output schemas


async def test_schemas_are_converted_and_one_that_cannot_be_is_anything() -> None:
    def types(schema: Any, _: Callable[[str], None]) -> object:
        if schema == {"broken": True}:
            raise SchemaConversionFailed("no type for this")
        return ":any" if schema is True else f"type of {sorted(schema)}"

    definitions = [tool("read", inputSchema=SCHEMA, outputSchema={"a": 1}), tool("odd", inputSchema={"broken": True})]
    async with desk(FakeServers(FakeServer("files", definitions)), types=types) as us:
        read, odd = await us.service.discover_tools(spec("files"))

    assert (read.input_schema, read.output_schema) == ("type of ['properties', 'type']", "type of ['a']")
    assert (odd.input_schema, odd.output_schema) == (":any", None)


class Introspector:
    """Calls every tool whose name begins with get, and learns a schema from it."""

    def __init__(self, called: list[str]) -> None:
        self.called = called

    async def output_schema(
        self,
        config: ServerSpec,
        definition: Mapping[str, Any],
        call: Any,
    ) -> Mapping[str, Any] | None:
        name = definition["name"]
        if not name.startswith("get"):
            return None
        self.called.append(name)
        result: ToolResult = await call(name, {})
        return {"learnt from": result.text}


EAGER = DiscoveryOptions(introspect_output_schemas=True, lazy_output_schemas=False)


async def test_output_schemas_are_learnt_by_calling_only_where_both_options_say_so() -> None:
    called: list[str] = []
    definitions = [tool("get_x"), tool("put_x"), tool("get_y", outputSchema={"type": "string"})]
    servers = FakeServers(FakeServer("files", definitions, tools={"get_x": lambda _: text("five")}))
    async with desk(servers, introspector=Introspector(called)) as us:
        for options in (DiscoveryOptions(), DiscoveryOptions(introspect_output_schemas=True)):
            tools = await us.service.discover_tools(spec("files"), options)
            assert [found.output_schema_json for found in tools] == [None, None, {"type": "string"}]
        assert called == []

        learnt = [found.output_schema_json for found in await us.service.discover_tools(spec("files"), EAGER)]
        assert learnt == [{"learnt from": "five"}, None, {"type": "string"}]
        kept = await us.service.discover_tools(spec("files"), CACHED)

    assert called == ["get_x"]
    assert [found.output_schema_json for found in kept] == learnt


async def test_what_could_not_be_learnt_stays_unknown() -> None:
    def fail(_: dict[str, Any]) -> Mapping[str, Any]:
        raise RpcError(INTERNAL_ERROR, "no")

    servers = FakeServers(FakeServer("files", [tool("get_x")], tools={"get_x": fail}))
    async with desk(servers, introspector=Introspector([])) as us:
        (found,) = await us.service.discover_tools(spec("files"), EAGER)

    assert found.output_schema_json is None
    assert len(servers["files"].calls) == 1


async def test_tools_of_a_stranger_are_never_called() -> None:
    called: list[str] = []
    registry = FakeRegistry()
    registry.offer(remote("maps"))
    async with desk(
        FakeServers(FakeServer("maps", [tool("get_x")])), registry=registry, introspector=Introspector(called)
    ) as us:
        ((_, (found,)),) = await us.service.discover_from_registry("maps", EAGER)

    assert found.output_schema_json is None
    assert called == []


async def test_tools_of_a_configured_server_are_called_the_way_agents_call_them() -> None:
    calls: list[ToolCall] = []

    async def through_the_gateway(call: ToolCall) -> ToolResult:
        calls.append(call)
        return ToolResult.of(text("checked"))

    entry = spec("files", prefix="my_")
    call_tool: CallTool = through_the_gateway
    servers = FakeServers(FakeServer("files", [tool("get_x")]))
    async with desk(servers, entry, introspector=Introspector([]), call_tool=call_tool) as us:
        (found,) = await us.service.discover_tools(entry, EAGER)

    assert found.output_schema_json == {"learnt from": "checked"}
    assert [(call.server, call.tool, call.caller.name) for call in calls] == [("files", "my_get_x", "discovery")]
    assert servers["files"].calls == []


# -- capabilities


class Shop:
    """Takes every capability but those whose name is refused."""

    def __init__(self, *refused: str) -> None:
        self.taken: list[Any] = []
        self.refused = refused

    def register(self, manifest: Any) -> None:
        if manifest["id"] in self.refused:
            raise ValidationError("not this one")
        self.taken.append(manifest["id"])


class SlowShop(Shop):
    async def register(self, manifest: Any) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().register(manifest)


class Export:
    def __init__(self) -> None:
        self.written: list[tuple[list[str], Path | None]] = []

    def export(self, manifests: Any, directory: Path | None) -> None:
        self.written.append(([manifest["id"] for manifest in manifests], directory))


def manifest(found: DiscoveredMCPTool, config: ServerSpec) -> dict[str, str]:
    return {"id": f"mcp.{config.name}.{found.tool_name}"}


FILES = FakeServer("files", [tool("read"), tool("write")])


async def test_a_tool_becomes_a_capability_and_is_registered_in_both_places() -> None:
    market, catalog = Shop(), SlowShop()
    parts = CapabilitySinks(manifest, market, catalog)
    async with desk(FakeServers(FILES), capabilities=parts) as us:
        (read, _) = await us.service.discover_tools(spec("files"))
        assert market.taken == []
        await us.service.register_capability(us.service.tool_to_manifest(read, spec("files")))

    assert (market.taken, catalog.taken) == (["mcp.files.read"], ["mcp.files.read"])


async def test_discovered_tools_are_registered_and_exported_where_asked_also_from_the_cache() -> None:
    market, export = Shop("mcp.files.read"), Export()
    options = DiscoveryOptions(
        use_cache=True, register_in_marketplace=True, export_to_rtfs=True, export_directory="somewhere"
    )
    async with desk(FakeServers(FILES), capabilities=CapabilitySinks(manifest, market, export=export)) as us:
        for _ in range(2):
            assert len(await us.service.discover_tools(spec("files"), options)) == 2
        await us.service.discover_tools(spec("files"), replace(options, export_directory=None))

    both = ["mcp.files.read", "mcp.files.write"]
    assert market.taken == ["mcp.files.write"] * 3
    assert export.written == [(both, Path("somewhere"))] * 2 + [(both, None)]


@pytest.mark.parametrize("option", ["register_in_marketplace", "export_to_rtfs", "create_approval_request"])
async def test_what_no_part_is_there_for_is_refused_before_a_server_is_asked(option: str) -> None:
    servers = FakeServers(FakeServer("files"))
    async with desk(servers) as us:
        with pytest.raises(ValidationError, match=option):
            await us.service.discover_tools(spec("files"), DiscoveryOptions(**{option: True}))
        with pytest.raises(ValidationError, match="register_capability"):
            await us.service.register_capability({})
        with pytest.raises(ValidationError, match="tool_to_manifest"):
            us.service.tool_to_manifest(DiscoveredMCPTool("x", "", None, None, {}), spec("files"))
        with pytest.raises(ValidationError, match="resource_to_manifest"):
            us.service.resource_to_manifest({}, spec("files"))
    assert servers["files"].starts == 0


async def test_a_service_with_another_part_shares_the_rest() -> None:
    market, catalog = Shop(), Shop()
    async with desk(FakeServers(FILES), capabilities=CapabilitySinks(manifest)) as us:
        fuller = us.service.with_marketplace(market).with_catalog(catalog)
        await fuller.register_capability({"id": "x"})
        await fuller.discover_tools(spec("files"), CACHED)
        await us.service.discover_tools(spec("files"), CACHED)
        with pytest.raises(ValidationError):
            await us.service.register_capability({"id": "x"})

        assert (market.taken, catalog.taken) == (["x"], ["x"])
        assert us.cache.stats == CacheStats(hits=1, misses=1)


# -- what a server hears, and one that says nothing


async def test_a_server_that_never_answers_is_a_timeout() -> None:
    async def hang(_: dict[str, Any]) -> Mapping[str, Any]:
        await asyncio.get_running_loop().create_future()
        return {}

    servers = FakeServers(FakeServer("files", methods={"tools/list": hang}))
    async with desk(servers, policy=replace(POLICY, list_seconds=0.05)) as us:
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
