from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.calls.steps import Upstream, through
from tests.calls.steps import a_call as any_call
from tests.fakes import Clock, FakeServer, FakeServers, spec, tool
from toolcrib import Settings, load_settings, open_gateway
from toolcrib.calls.limit_rate import LimitRate
from toolcrib.calls.retry import Retry
from toolcrib.engine.from_settings import call_limit
from toolcrib.errors import RateLimited, ServerConnectionError
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.model.call import Target, ToolCall
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.tool import Tool
from toolcrib.storage.memory_buckets import MemoryBuckets


def a_call(server: str = "files") -> ToolCall:
    entry = None if server == BUILT_IN_SERVER else spec(server)
    return any_call(server, target=Target(Tool.from_mcp(server, tool("read")), "read", entry))


def limited(clock: Clock, limit: RateLimitConfig | None) -> LimitRate:
    return LimitRate(RateLimiter(MemoryBuckets(clock)), lambda _: limit)


async def test_a_call_that_comes_too_soon_is_refused_with_the_time_to_wait() -> None:
    clock, upstream = Clock(), Upstream()
    step = limited(clock, RateLimitConfig(2.0, 1))
    await through(step, a_call("files"), upstream)

    with pytest.raises(RateLimited, match="files accepts at most 2 calls a second") as refused:
        await through(step, a_call("files"), upstream)
    assert refused.value.retry_after_seconds == 0.5
    assert refused.value.details == {"retryAfterSeconds": 0.5}
    await through(step, a_call("web"), upstream)
    clock.advance(0.5)
    await through(step, a_call("files"), upstream)
    assert len(upstream.calls) == 3


async def test_by_default_calls_are_not_counted() -> None:
    step, upstream = limited(Clock(), call_limit(Settings(), spec())), Upstream()
    for _ in range(1000):
        await through(step, a_call(), upstream)

    assert len(upstream.calls) == 1000


async def test_our_own_tools_have_no_limit() -> None:
    step, upstream = limited(Clock(), RateLimitConfig(0.001, 1)), Upstream()
    for _ in range(5):
        await through(step, a_call(BUILT_IN_SERVER), upstream)

    assert len(upstream.calls) == 5


async def test_a_repeated_call_spends_another_token() -> None:
    step = limited(Clock(), RateLimitConfig(1.0, 1))
    upstream = Upstream(ServerConnectionError("never sent", server="files"))

    with pytest.raises(RateLimited):
        await Retry()(a_call(), call_next=lambda call: through(step, call, upstream))
    assert len(upstream.calls) == 1


@pytest.mark.parametrize(("rate", "burst"), [(0.2, 1), (1.0, 1), (2.5, 3), (100.0, 100)])
def test_a_second_s_worth_of_calls_may_come_at_once(rate: float, burst: int) -> None:
    assert call_limit(Settings(call_rate=rate)) == RateLimitConfig(rate, burst)


async def test_the_setting_reaches_the_agent_as_a_code_and_a_wait() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    settings = Settings(servers=(spec("files"),), call_rate=0.01)

    async with open_gateway(settings=settings, opener=servers) as gateway:
        assert (await gateway.execute_tool("files", "read")).success
        refused = await gateway.execute_tool("files", "read")

    assert refused.error.code == "RATE_LIMITED"
    assert 90 < refused.error.details["retryAfterSeconds"] <= 100


async def test_a_server_has_a_limit_of_its_own_in_its_entry(tmp_path: Path) -> None:
    entries = {"files": {"command": "x", "callRate": 0.01}, "web": {"command": "y"}}
    (tmp_path / "c.json").write_text(json.dumps({"callRate": 0.5, "servers": entries}))
    servers = FakeServers(*(FakeServer(name, [tool("read")]) for name in entries))

    async with open_gateway(tmp_path / "c.json", opener=servers) as gateway:
        waits = {}
        for name in ("files", "web"):
            assert (await gateway.execute_tool(name, "read")).success
            refused = await gateway.execute_tool(name, "read")
            waits[name] = refused.error.details["retryAfterSeconds"]

    assert 90 < waits["files"] <= 100
    assert waits["web"] <= 2


async def test_a_server_is_read_at_the_rate_of_its_own_entry(tmp_path: Path) -> None:
    limited = {"command": "x", "discoveryRate": 2, "discoveryBurst": 1}
    (tmp_path / "c.json").write_text(json.dumps({"servers": {"files": limited, "web": {"command": "y"}}}))
    servers = FakeServers(*(FakeServer(name, [tool("read")]) for name in ("files", "web")))

    async with open_gateway(tmp_path / "c.json", opener=servers, read_due=False) as gateway:
        took = {}
        for name in ("files", "web"):
            began = time.monotonic()
            await gateway.read_server(name)
            await gateway.read_server(name)
            took[name] = time.monotonic() - began

    assert took["files"] >= 0.45
    assert took["web"] < took["files"]


@pytest.mark.parametrize(
    "wrong", [{"callRate": 0}, {"callRate": "5"}, {"discoveryRate": -1}, {"discoveryBurst": 0}, {"discoveryBurst": 1.5}]
)
def test_a_limit_that_makes_no_sense_is_reported_with_its_place(tmp_path: Path, wrong: dict[str, object]) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"servers": {"files": {"command": "x", **wrong}}}))
    (problem,) = load_settings(tmp_path / "c.json").problems
    assert problem.where == f"servers.files.{next(iter(wrong))}"
