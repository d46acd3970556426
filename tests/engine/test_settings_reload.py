"""A reload and a restart leave the same gateway behind, whichever setting was edited."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.engine.inner_values import differences, inner_values
from tests.fakes import FakeServer, FakeServers, eventually, tool
from tests.servers.registry import Registry
from tests.servers.registry import serve as serve_registry
from tests.upstream.http_servers import SdkServer, serve
from toolcrib.config.paths import Paths
from toolcrib.config.setting_field import Scalar
from toolcrib.config.settings import SCALARS, Settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.live_registry import sync_one
from toolcrib.engine.open_gateway import open_engine, open_gateway
from toolcrib.engine.registry import open_mirror
from toolcrib.gateway import Gateway
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.http import build_app, connection_limits
from toolcrib.server.http_connections import House

RELOADING = [scalar for scalar in SCALARS if scalar.reloads]
OTHER_TEXTS = {
    "registry.urls": ["https://registry.example"],
    "peers.static": ["other.example:8666"],
    "peers.bootstrap": ["other.example:8666"],
    "peers.scan": ["192.0.2.10:8080-8090"],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "toolcrib.json"


def write(file: Path, **edited: Any) -> None:
    """A configuration with one server that nothing here starts, and these settings by their keys."""
    section: dict[str, Any] = {"servers": {"files": {"command": "never-started"}}, "profiles": {"other-": {}}}
    for key, value in edited.items():
        *outer, last = key.split(".")
        place = section
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
    file.write_text(json.dumps({"discovery": section}), encoding="utf-8")


def other_value(scalar: Scalar) -> Any:
    """A value that is allowed and is not the default."""
    match scalar.kind:
        case "flag":
            return not scalar.default
        case "texts":
            return OTHER_TEXTS.get(scalar.key, ["other.example"])
        case "text":
            return scalar.choices[-1] if scalar.choices else f"other-{scalar.default}"[:15]
        case _ if scalar.default is None:
            return 7
        case _:
            larger = scalar.default + 1
            return larger if scalar.maximum is None or larger <= scalar.maximum else scalar.default / 2


@asynccontextmanager
async def opened(file: Path) -> AsyncIterator[tuple[Gateway, Sequence[object]]]:
    """A gateway, and all there is to look into: itself with everything behind it, and its HTTP face."""
    async with open_gateway(file, read_due=False) as gateway:
        server = MCPDiscoveryServer(gateway).sdk_server
        app = build_app(server, lambda: gateway.settings, host="127.0.0.1", token=None)
        yield gateway, (gateway, app, House(lambda: connection_limits(gateway.settings)))


@pytest.mark.parametrize("scalar", RELOADING, ids=lambda scalar: scalar.key)
async def test_a_reload_takes_a_setting_over_as_a_restart_does(scalar: Scalar, file: Path):
    write(file)
    async with opened(file) as (gateway, parts):
        write(file, **{scalar.key: other_value(scalar)})
        await gateway.reload()
        reloaded = inner_values(parts)
    async with opened(file) as (gateway, parts):
        assert getattr(gateway.settings, scalar.name) != scalar.default
        assert differences(reloaded, inner_values(parts)) == {}


STAYED_OLD: dict[str, Callable[[Engine], None]] = {
    "an attribute": lambda engine: engine.audit.configure(max_bytes=1, files=5),
    "a value in a container": lambda engine: engine.started_with.update({"http.port": 1}),
    "what a function took along": lambda engine: setattr(engine.results, "_now", lambda at=1.0: at),
    "another set of settings": lambda engine: setattr(engine, "settings", replace(engine.settings, max_calls=1)),
}


@pytest.mark.parametrize("stay_old", STAYED_OLD.values(), ids=STAYED_OLD)
async def test_what_stays_old_somewhere_inside_is_found(stay_old: Callable[[Engine], None], file: Path):
    write(file)
    async with open_engine(Settings(), read_due=False) as engine:
        before = inner_values(engine)
        assert differences(before, inner_values(engine)) == {}
        stay_old(engine)
        assert differences(before, inner_values(engine)) != {}


def nested(levels: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for _ in range(levels - 1):
        arguments = {"deeper": arguments}
    return arguments


async def test_deeper_arguments_pass_once_max_nesting_was_raised(file: Path):
    servers = FakeServers(FakeServer("files", [tool("read")]))
    write(file, maxNesting=4)
    async with open_gateway(file, opener=servers) as gateway:
        refused = await gateway.execute_tool("files", "read", nested(6))
        assert refused.error is not None
        assert refused.error.code == "TOOL_VALIDATION_ERROR"
        write(file, maxNesting=8)
        await gateway.reload()
        assert (await gateway.execute_tool("files", "read", nested(6))).success


async def test_a_shorter_reload_interval_holds_at_once(file: Path):
    write(file, reloadInterval=3600)
    async with open_gateway(file, read_due=False) as gateway:
        write(file, reloadInterval=0.02)
        await gateway.reload()
        write(file, reloadInterval=0.02, clientName="edited")
        await eventually(lambda: gateway.settings.client_name == "edited")
        assert gateway.settings.reload_interval_seconds == 0.02


class SlowSse:
    """An SSE server that takes its time before it opens a stream."""

    def __init__(self, seconds: float) -> None:
        self._app = SdkServer().sse_app()
        self._seconds = seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            await asyncio.sleep(self._seconds)
        await self._app(scope, receive, send)


async def test_a_slow_server_is_reached_once_connect_timeout_was_raised(file: Path):
    async with serve(SlowSse(0.5)) as address:
        entry = {"servers": {"far": {"url": f"{address}/sse", "type": "sse"}}, "maxRetries": 0}
        write(file, **entry, connectTimeout=0.1)
        async with open_gateway(file, read_due=False) as gateway:
            assert not (await gateway.execute_tool("far", "echo", {"a": 1})).success
            write(file, **entry, connectTimeout=10)
            await gateway.reload()
            assert (await gateway.execute_tool("far", "echo", {"a": 1})).success


QUERY = "geocoding maps routes"


async def test_suggestions_from_the_registries_follow_their_settings(file: Path):
    with serve_registry(Registry()) as registry:
        with_copy = {"registry.urls": [registry.url], "registry.rate": 1000}
        without = {**with_copy, "registry.mirror": False}
        await copied(registry)
        write(file, **without)
        async with open_gateway(file, read_due=False) as gateway:
            assert "may fit" not in (await gateway.search_tools(QUERY)).note
            write(file, **with_copy)
            await gateway.reload()
            await eventually(lambda: gateway._hints.names(QUERY))  # the copy is read aside
            assert "may fit" in (await gateway.search_tools(QUERY)).note
            write(file, **without)
            await gateway.reload()
            assert "may fit" not in (await gateway.search_tools(QUERY)).note


async def copied(registry: Registry) -> None:
    settings = Settings(registry_urls=(registry.url,), registry_rate=1000.0)
    with closing(open_mirror(settings, Paths.of(os.environ))) as mirror:
        await sync_one(settings, mirror, registry.url, is_full=False, on_page=lambda *_: None)


async def test_settings_that_wait_for_a_restart_are_named_in_the_log(file: Path, caplog: pytest.LogCaptureFixture):
    write(file)
    async with open_gateway(file, read_due=False) as gateway:
        write(file, **{"http.port": 9000, "http.path": "/other", "maxCalls": 7})
        await gateway.reload()
    (line,) = (line for line in caplog.messages if "restart" in line)
    assert line == "restart the gateway to use the new values of http.port, http.path"


async def test_nothing_waits_for_a_restart_where_no_http_is_served(file: Path, caplog: pytest.LogCaptureFixture):
    write(file)
    async with open_gateway(file, read_due=False, face="stdio") as gateway:
        write(file, **{"http.port": 9000})
        await gateway.reload()
    assert not [line for line in caplog.messages if "restart" in line]
