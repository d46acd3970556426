"""Tasks that a client waits for itself, request by request, in front of a server of the newest revision."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.fakes import FakeServer, spec, text, tool
from tests.gateways import read_counter
from toolcrib.config.paths import Paths
from toolcrib.errors import ServerConnectionError
from toolcrib.model.asking import TASKS_EXTENSION
from toolcrib.model.caller import Caller
from toolcrib.model.server import StdioLaunch
from toolcrib.server.input_rounds import ModernClient
from toolcrib.server.meta_tools import MetaTools, Request
from toolcrib.server.relayed_tasks import TaskQuestion
from toolcrib.wire.jsonrpc import RpcError

AGENT = Caller("agent", "stdio", "stdio:agent", session="s-1")
CAN: Mapping[str, Any] = {"extensions": {TASKS_EXTENSION: {}}}
FORM = {"method": "elicitation/create", "params": {"message": "Which?"}}
PROMPT = {"method": "sampling/createMessage", "params": {"messages": []}}
PAGE = {"method": "elicitation/create", "params": {"mode": "url", "url": "http://example.com", "message": "Go"}}


class Working(FakeServer):
    """A server whose tool is a task; `state` is what it says of it."""

    def __init__(self, **state: Any) -> None:
        super().__init__(definitions=[tool("build")])
        self.state = {"taskId": "t-1", "status": "working", "ttlMs": 1, **state}
        self.methods |= {
            "tools/call": lambda _: {"resultType": "task", **self.state},
            "tasks/get": lambda _: {"resultType": "complete", **self.state},
        }


class Client:
    def __init__(self, meta_tools: MetaTools) -> None:
        self._meta_tools = meta_tools

    async def begin(self, can: Mapping[str, Any] = CAN) -> dict[str, Any]:
        arguments = msgspec.json.encode({"server": "files", "tool": "build", "arguments": {}})
        request = Request(AGENT, None, None, {}, modern=ModernClient(can))
        return _decoded(await self._meta_tools.call("execute_tool", arguments, request))

    async def look(self, id: object, caller: Caller = AGENT, can: Mapping[str, Any] = CAN) -> dict[str, Any]:
        return _decoded(await self._meta_tools.task(TaskQuestion("tasks/get", id), caller, can))

    async def cancel(self, id: object) -> None:
        await self._meta_tools.task(TaskQuestion("tasks/cancel", id), AGENT, CAN)


def _decoded(members: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    return {name: msgspec.json.decode(value) for name, value in members.items()}


@asynccontextmanager
async def client_of(server: FakeServer, **settings: Any) -> AsyncIterator[Client]:
    async with read_counter(server, **settings) as gateway:
        yield Client(MetaTools(gateway))


async def test_an_id_is_good_for_its_client_in_any_session_and_for_nobody_else() -> None:
    async with client_of(Working()) as client:
        task = (await client.begin())["taskId"]
        later = await client.look(task, replace(AGENT, session="s-2"))
        for id, caller in (
            (task, replace(AGENT, key="stdio:other")),
            (f"{task[:-4]}AAAA", AGENT),
            ("t-1", AGENT),
            (None, AGENT),
        ):
            with pytest.raises(RpcError) as refused:
                await client.look(id, caller)
            assert refused.value.code == -32602

    assert (later["taskId"], later["status"], later["ttlMs"]) == (task, "working", 1)


async def test_an_id_does_not_lead_to_another_server_that_has_the_name_by_now() -> None:
    async with client_of(Working()) as client:
        task = (await client.begin())["taskId"]

    server = Working()
    async with client_of(server, servers=(spec("files", launch=StdioLaunch("fake", ("other",))),)) as client:
        with pytest.raises(RpcError):
            await client.look(task)

    assert server.count("tasks/get") == 0


@pytest.mark.parametrize(
    ("question", "can", "settings", "shown"),
    [
        (FORM, {"elicitation": {}}, {}, "files asks: Which?"),
        (FORM, {}, {}, None),
        (PAGE, {"elicitation": {"url": {}}}, {}, None),
        (PROMPT, {"elicitation": {}, "sampling": {}}, {"sampling": "allow"}, ""),
        (PROMPT, {"sampling": {}}, {"sampling": "deny"}, None),
    ],
    ids=["a form", "a client without forms", "a doubtful address", "a model that may be used", "one that may not"],
)
async def test_a_task_asks_only_what_any_other_call_could(
    question: dict[str, Any], can: dict[str, Any], settings: dict[str, Any], shown: str | None
) -> None:
    server = Working()
    async with client_of(server, **settings) as client:
        task = (await client.begin({**CAN, **can}))["taskId"]
        server.state |= {"status": "input_required", "inputRequests": {"q": question}}
        if shown is None:
            with pytest.raises(RpcError, match="not passed on"):
                await client.look(task, can={**CAN, **can})
            return
        state = await client.look(task, can={**CAN, **can})

    assert state["inputRequests"]["q"]["params"].get("message", "") == shown


async def test_a_task_that_asks_from_its_beginning_asks_in_its_states_only() -> None:
    server = Working(status="input_required", inputRequests={"q": PAGE}, result=text("x"))
    async with client_of(server) as client:
        begun = await client.begin({**CAN, "elicitation": {"url": {}}})

    assert begun["status"] == "input_required"
    assert begun.keys().isdisjoint({"inputRequests", "result"})


async def test_the_result_of_a_task_is_fitted_like_any_other_and_an_error_is_one() -> None:
    server = Working()
    async with client_of(server, max_result_bytes=1_000) as client:
        task = (await client.begin())["taskId"]
        server.state |= {"status": "completed", "result": text("x" * 5_000)}
        large = (await client.look(task))["result"]
        server.state["result"] = {**text("it broke"), "isError": True}
        failed = (await client.look(task))["result"]
        server.methods["tasks/get"] = _unknown
        with pytest.raises(RpcError) as lost:
            await client.look(task)

    assert "handle" in json.loads(large["content"][0]["text"])
    assert failed["isError"]
    assert json.loads(failed["content"][0]["text"])["error"]["message"] == "it broke"
    assert (lost.value.code, lost.value.message) == (-32602, "no such task")


async def test_a_look_that_failed_on_the_way_is_made_once_more_and_a_cancel_is_not() -> None:
    server, fails = Working(), list[str]()
    server.methods["tasks/cancel"] = lambda _: {"resultType": "complete"}
    async with client_of(server) as client:
        task = (await client.begin())["taskId"]
        link = server.open_links[-1]
        request = link.request

        async def failing(id: int, method: str, *more: Any) -> bytes:
            if fails.count(method) == 0 and method.startswith("tasks/"):
                fails.append(method)
                raise ServerConnectionError("the connection broke", server="files", sent=True)
            return await request(id, method, *more)

        link.request = failing  # type: ignore[method-assign]
        state = await client.look(task)
        with pytest.raises(RpcError, match="the connection broke"):
            await client.cancel(task)

    assert state["status"] == "working"
    assert fails == ["tasks/get", "tasks/cancel"]


async def test_whoever_cancels_a_task_is_in_the_audit_log() -> None:
    server = Working()
    server.methods["tasks/cancel"] = lambda _: {"resultType": "complete"}
    async with client_of(server) as client:
        task = (await client.begin())["taskId"]
        await client.look(task)
        await client.cancel(task)

    lines = map(json.loads, Paths.of(os.environ).audit_log.read_text(encoding="utf-8").splitlines())
    assert [(line["caller"], line["tool"], line["outcome"]) for line in lines] == [
        ("agent", "build", "TASK_BEGUN"),
        ("agent", "build", "task_cancelled"),
    ]


def _unknown(_: dict[str, Any]) -> Mapping[str, Any]:
    raise RpcError(-32602, "no such task")
