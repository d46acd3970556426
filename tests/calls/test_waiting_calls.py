"""A call that waits for its server is looked at again before it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeServer, FakeServers, eventually, text, tool
from tests.gateways import read_counter
from toolcrib import Gateway, open_gateway
from toolcrib.model.call import ExecutionResult, ToolCall
from toolcrib.model.caller import EVERYTHING, NOTHING, Rights

BOUND_SECONDS = 10


class Desk:
    """A server that takes one call at a time, with one that runs until `gate` is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.server = FakeServer("files", [tool("slow"), tool("delete_row", "Deletes a row.")])
        self.server.tools["slow"] = self._slow

    async def _slow(self, _: Any) -> dict[str, Any]:
        await self.gate.wait()
        return text("at last")

    @property
    def ran(self) -> list[str]:
        return [name for name, _ in self.server.calls]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Gateway]:
        """The gateway in front of it, whose server is busy."""
        async with (
            asyncio.timeout(BOUND_SECONDS),
            read_counter(self.server, max_calls_per_server=1) as gateway,
            self.busy(gateway),
        ):
            yield gateway

    @asynccontextmanager
    async def busy(self, gateway: Gateway) -> AsyncIterator[None]:
        running = asyncio.create_task(gateway.execute_tool("files", "slow"))
        await eventually(lambda: self.server.running)
        yield
        self.gate.set()
        await running


async def waiting(gateway: Gateway, **more: Any) -> asyncio.Task[ExecutionResult]:
    """A call of `delete_row` that was let through by everybody and has to wait for its server."""
    call = ToolCall("files", "delete_row", {}, b"{}", **more)
    task = asyncio.create_task(gateway.execute(call))
    await eventually(lambda: call.notes.looked_at)
    return task


def code_of(outcome: ExecutionResult) -> str:
    return "" if outcome.error is None else outcome.error.code


async def test_a_call_that_waited_is_run_where_nothing_has_changed() -> None:
    desk = Desk()
    async with desk.opened() as gateway:
        call = await waiting(gateway, rights_now=lambda: EVERYTHING)
        desk.gate.set()

        assert (await call).success
    assert desk.ran == ["slow", "delete_row"]


@pytest.mark.parametrize("is_confirmed", [False, True])
async def test_a_tool_that_changes_while_a_call_of_it_waits_is_not_run(is_confirmed: bool) -> None:
    desk = Desk()
    async with desk.opened() as gateway:
        call = await waiting(gateway, is_confirmed=is_confirmed)
        desk.server.definitions[1] = tool("delete_row", "Deletes the whole table.")
        desk.server.notify("notifications/tools/list_changed")
        desk.gate.set()

        assert code_of(await call) == "TOOL_CHANGED"
    assert desk.ran == ["slow"]


@pytest.mark.parametrize(
    ("left", "code"), [(NOTHING, "SERVER_NOT_FOUND"), (Rights(read_only=True, label="token ci"), "TOOL_DISABLED")]
)
async def test_a_caller_who_loses_the_right_while_the_call_waits_runs_nothing(left: Rights, code: str) -> None:
    desk, rights = Desk(), [EVERYTHING]
    async with desk.opened() as gateway:
        call = await waiting(gateway, rights_now=lambda: rights[-1])
        rights.append(left)
        desk.gate.set()

        assert code_of(await call) == code
    assert desk.ran == ["slow"]


async def test_a_rule_that_is_added_while_a_call_waits_holds_for_it(tmp_path: Path) -> None:
    desk, config = Desk(), tmp_path / "toolcrib.json"

    def write(**more: Any) -> None:
        servers = {"files": {"command": "fake"}}
        config.write_text(json.dumps({"servers": servers, "maxCallsPerServer": 1, **more}))

    write()
    async with (
        asyncio.timeout(BOUND_SECONDS),
        open_gateway(config, opener=FakeServers(desk.server)) as gateway,
        desk.busy(gateway),
    ):
        call = await waiting(gateway)
        write(toolRules=[{"pattern": ["files:delete_row"], "enabled": False}])
        await gateway.reload()
        desk.gate.set()

        assert code_of(await call) == "TOOL_DISABLED"
    assert desk.ran == ["slow"]
