"""What one HTTP client may take of what all of them share."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes import FakeServer, FakeServers, tool
from tests.journeys.http_gateway import write_config
from tests.server.http_face import Bare, http_face
from tests.server.slow_upstream import SlowServer
from tests.server.test_issued_tokens import guarded
from tests.upstream.http_servers import Script, serve
from toolcrib import open_gateway
from toolcrib.config.paths import Paths

CALL = ("far", "slow", {"say": "[1]"})


def said(messages: list[dict[str, Any]]) -> Any:
    return json.loads(messages[-1]["result"]["content"][0]["text"])


async def test_one_caller_can_not_use_up_the_others_share(tmp_path: Path) -> None:
    slow = SlowServer()
    async with serve(Script(slow)) as far:
        limits = {"http": {"callerCalls": 2}, "maxCalls": 3}
        async with http_face(write_config(tmp_path, {"far": {"url": far}}, **limits)) as face:
            greedy, modest = await face.open("modern"), await face.open("legacy", name="modest")
            running = [asyncio.create_task(greedy.execute(*CALL)) for _ in range(2)]
            await both_wait(slow, running)
            refused = said(await greedy.execute(*CALL))
            assert refused["error"]["code"] == "OVERLOADED"
            assert "http.callerCalls" in refused["error"]["message"]
            slow.go.set()
            assert said(await modest.execute(*CALL))["success"] is True
            assert [said(messages)["success"] for messages in await asyncio.gather(*running)] == [True, True]
            assert said(await greedy.execute(*CALL))["success"] is True


async def both_wait(slow: SlowServer, running: list[asyncio.Task[Any]]) -> None:
    async with asyncio.timeout(10):
        while slow.calls < len(running):
            await slow.called.wait()
            slow.called.clear()


async def test_a_caller_that_calls_too_often_hears_how_long_to_wait_and_others_do_not(tmp_path: Path) -> None:
    slow = SlowServer()
    slow.go.set()
    async with serve(Script(slow)) as far:
        config = write_config(tmp_path, {"far": {"url": far}}, http={"callerRate": 0.01})
        async with http_face(config) as face:
            hasty, calm = await face.open("legacy", name="hasty"), await face.open("modern")
            assert said(await hasty.execute(*CALL))["success"] is True
            refused = said(await hasty.execute(*CALL))["error"]
            assert refused["code"] == "RATE_LIMITED"
            assert 90 < refused["retryAfterSeconds"] <= 100
            assert said(await calm.execute(*CALL))["success"] is True
            # Only calls are counted, and not what is looked up.
            (found,) = await hasty.request("tools/call", {"name": "list_mcp_servers", "arguments": {}})
            assert "error" not in found


async def test_with_an_issuer_a_caller_is_the_person_and_not_the_name_of_a_client(tmp_path: Path) -> None:
    slow = SlowServer()
    slow.go.set()
    async with serve(Script(slow)) as far, guarded(tmp_path, servers={"far": {"url": far}}) as (issuer, face):
        write_config(
            tmp_path,
            {"far": {"url": far}},
            http={"auth": {"issuer": issuer.address}, "callerRate": 0.01},
            reloadInterval=1,
        )

        async def client(name: str, **claims: str) -> Bare:
            return await replace(face, token=issuer.token(**claims)).open("legacy", name=name)

        ann, bob = await client("one"), await client("one", sub="bob")
        async with asyncio.timeout(20):  # the edited file is read within a second
            while said(await ann.execute(*CALL))["success"]:
                pass
        ann_as_another = await client("two")
        assert said(await ann_as_another.execute(*CALL))["error"]["code"] == "RATE_LIMITED"
        assert said(await bob.execute(*CALL))["success"] is True


async def test_programs_of_the_person_are_not_counted(tmp_path: Path) -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    config = write_config(tmp_path, {"files": {"command": "never-started"}}, http={"callerRate": 0.01})
    async with open_gateway(config, opener=servers) as gateway:
        results = [await gateway.execute_tool("files", "read", {}) for _ in range(5)]
    assert [result.success for result in results] == [True] * 5


async def test_a_refused_call_is_in_the_audit_log(tmp_path: Path) -> None:
    slow = SlowServer()
    slow.go.set()
    async with serve(Script(slow)) as far:
        config = write_config(tmp_path, {"far": {"url": far}}, http={"callerRate": 0.01})
        async with http_face(config) as face:
            client = await face.open("modern")
            for _ in range(2):
                await client.execute(*CALL)
    log = Paths.of(os.environ).audit_log
    outcomes = [json.loads(line)["outcome"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert outcomes == ["OK", "RATE_LIMITED"]
