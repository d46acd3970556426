"""Servers that work on a call as a task: whoever called waits for the result as for any other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.gateways import read_counter
from toolcrib.errors import RateLimited, ServerConnectionError, ToolcribError
from toolcrib.gateway import Gateway
from toolcrib.limits.retry import RetryPolicy
from toolcrib.model.asking import Question
from toolcrib.model.call import CallEvent, ExecutionResult, Progress
from toolcrib.upstream import session_tasks
from toolcrib.upstream.sign_in_errors import sign_in_required
from toolcrib.wire.jsonrpc import INVALID_PARAMS, RpcError

TASKS = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ERAS = ["legacy", "modern"]
FORM = {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": {"type": "object"}}}


class Workshop(FakeServer):
    """A server whose tool `build` is a task; `states` are told one by one, and the last of them again and again."""

    def __init__(self, era: Any, *states: dict[str, Any], required: bool = True) -> None:
        execution = {"execution": {"taskSupport": "required"}} if required else {}
        super().__init__(definitions=[tool("build", **execution)], era=era)
        self.capabilities["tasks"] = {"requests": {"tools": {"call": {}}}}
        self.states = [{"status": "working", "statusMessage": "begun"}, *states]
        self.methods |= {
            "tools/call": self._begin,
            "tasks/get": self._get,
            "tasks/result": self._result,
            "tasks/update": self._update,
            "tasks/cancel": lambda _: {},
        }
        self.result: Any = text("built")

    def asked(self, method: str) -> list[dict[str, Any]]:
        return [params for heard, params in self.heard if heard == method]

    def _begin(self, params: dict[str, Any]) -> Mapping[str, Any]:
        if self.era == "legacy":
            return {"task": self._next()} if "task" in params else text("not as a task")
        if TASKS not in params["_meta"][CAPABILITIES].get("extensions", {}):
            raise RpcError(-32021, "tasks are needed", {"requiredCapabilities": {"extensions": {TASKS: {}}}})
        return {"resultType": "task", **self._next()}

    def _get(self, params: dict[str, Any]) -> Mapping[str, Any]:
        if params["taskId"] != "t-1":
            raise RpcError(INVALID_PARAMS, "no such task")
        state = self._next()
        if self.era == "modern" and state["status"] == "completed":
            state = {**state, "result": self.result}
        return {"resultType": "complete", **state}

    def _next(self) -> dict[str, Any]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        pause = {"pollInterval": 50} if self.era == "legacy" else {"pollIntervalMs": 50}
        return {"taskId": "t-1", **pause, **state}

    async def _result(self, _: dict[str, Any]) -> Mapping[str, Any]:
        if any(state["status"] == "input_required" for state in self.states):
            answer = await self.open_links[-1].ask(FORM["method"], FORM["params"])
            self.states = [{"status": "completed"}]
            return text(str(answer["result"]["content"]["which"]))
        return self.result

    def _update(self, params: dict[str, Any]) -> Mapping[str, Any]:
        self.states = [{"status": "completed"}]
        self.result = text(params["inputResponses"]["q"]["content"]["which"])
        return {}


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def built(gateway: Gateway, **how: Any) -> ExecutionResult:
    return await gateway.execute_tool("files", "build", {}, **how)


async def test_a_task_is_awaited_and_its_states_are_told_as_progress(era: str) -> None:
    working = [{"status": "working", "statusMessage": "half"}] * 2
    server, heard = Workshop(era, *working, {"status": "completed"}), list[CallEvent]()
    async with read_counter(server) as gateway:
        outcome = await built(gateway, listener=heard.append)

    assert outcome.value == "built"
    told = [event.params for event in heard if isinstance(event, Progress)]
    assert [(one["progress"], one["message"]) for one in told] == [(1, "begun"), (2, "half"), (3, "completed")]
    assert server.asked("tasks/cancel") == []


async def test_a_server_that_refuses_a_call_without_tasks_is_called_with_them() -> None:
    server = Workshop("modern", {"status": "completed"}, required=False)
    async with read_counter(server) as gateway:
        assert (await built(gateway)).value == "built"

    first, second = (params["_meta"][CAPABILITIES] for params in server.asked("tools/call"))
    assert (first, second) == ({}, {"extensions": {TASKS: {}}})


async def test_a_client_that_declares_tasks_does_not_make_servers_use_them_for_others() -> None:
    server = FakeServer(definitions=[tool("build")])
    async with read_counter(server) as gateway:
        declared = {"extensions": {TASKS: {}, "org.example/x": {}}, "roots": {}}
        await built(gateway, ask=_nobody, capabilities=declared)

    [(_, params)] = [one for one in server.heard if one[0] == "tools/call"]
    assert params["_meta"][CAPABILITIES] == {"extensions": {"org.example/x": {}}, "roots": {}}


async def test_what_a_task_asks_is_answered_by_the_client_of_the_call(era: str) -> None:
    asks = {"status": "input_required", **({"inputRequests": {"q": FORM}} if era == "modern" else {})}
    server, asked = Workshop(era, asks), list[str]()

    async def ask(question: Question) -> Mapping[str, Any]:
        asked.append(msgspec.json.decode(question.params)["message"])
        return {"action": "accept", "content": {"which": "the blue one"}}

    async with read_counter(server) as gateway:
        outcome = await built(gateway, ask=ask, capabilities={"elicitation": {}})

    assert outcome.value == "the blue one", outcome.error
    assert asked == ["files asks: Which?"]


async def test_a_task_whose_question_nobody_can_answer_is_cancelled() -> None:
    server = Workshop("modern", {"status": "input_required", "inputRequests": {"q": FORM}})
    async with read_counter(server) as gateway:
        outcome = await built(gateway)
        await eventually(lambda: server.asked("tasks/cancel"))

    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.details["needs"]) == ("CLIENT_CANNOT_ANSWER", ["elicitation"])


async def test_a_call_that_is_given_up_cancels_its_task(era: str) -> None:
    server = Workshop(era)
    async with read_counter(server) as gateway:
        running = asyncio.ensure_future(built(gateway))
        await eventually(lambda: server.asked("tasks/get"))
        running.cancel()
        await eventually(lambda: server.asked("tasks/cancel"))

    assert server.asked("tasks/cancel")[0]["taskId"] == "t-1"


async def test_a_task_that_fails_is_the_error_that_it_ended_with(era: str) -> None:
    error = {"code": -32603, "message": "out of wood", "data": {"left": 0}}
    server = Workshop(era, {"status": "failed", "error": error})

    def fail(_: dict[str, Any]) -> Mapping[str, Any]:
        raise RpcError(-32603, "out of wood", {"left": 0})

    server.methods["tasks/result"] = fail
    async with read_counter(server) as gateway:
        outcome = await built(gateway)

    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.message) == ("TOOL_EXECUTION_ERROR", "out of wood")
    assert (outcome.error.details["rpcCode"], outcome.error.details["data"]) == (-32603, {"left": 0})


async def test_a_task_that_the_server_ends_or_loses_says_so(era: str) -> None:
    ended = Workshop(era, {"status": "cancelled", "statusMessage": "no more room"})
    lost = Workshop(era)
    lost.methods["tasks/get"] = lambda _: {"taskId": "t-2", "status": "completed"}
    async with read_counter(ended) as gateway:
        outcome = await built(gateway)
        assert outcome.error is not None
        assert "no more room" in outcome.error.message
    async with read_counter(lost) as gateway:
        outcome = await built(gateway)
        assert outcome.error is not None
        assert "Outcome unknown" in outcome.error.hint


async def test_a_call_whose_task_was_begun_is_not_made_again_when_the_server_goes_away(era: str) -> None:
    server, heard = Workshop(era), list[CallEvent]()
    server.states = [{"status": "working", "pollInterval": 1_000, "pollIntervalMs": 1_000}]
    async with read_counter(server) as gateway:
        running = asyncio.ensure_future(built(gateway, listener=heard.append))
        await eventually(lambda: heard)  # and until the next look at the task nothing is under way
        server.crash()
        outcome = await running

    assert outcome.error is not None
    assert (outcome.error.code, len(server.asked("tools/call"))) == ("SERVER_CONNECTION_ERROR", 1)
    assert "Outcome unknown" in outcome.error.hint


async def test_a_call_whose_task_was_begun_is_not_made_again_after_a_sign_in() -> None:
    server = Workshop("modern")

    def refuse(_: dict[str, Any]) -> Mapping[str, Any]:
        raise AssertionError

    server.methods["tasks/get"] = refuse
    async with read_counter(server) as gateway:
        server.open_links[-1].request = _wanting_a_sign_in(server.open_links[-1].request)  # type: ignore[method-assign]
        outcome = await built(gateway)

    assert outcome.error is not None
    assert (outcome.error.code, len(server.asked("tools/call"))) == ("SERVER_CONNECTION_ERROR", 1)
    assert "toolcrib login" in outcome.error.hint


@pytest.mark.parametrize(
    "trouble",
    [
        ServerConnectionError("it answered 503", server="files", sent=True, retryable=True),
        RateLimited("files limits how often it can be called", retry_after_seconds=0.01),
    ],
    ids=["not available", "too often"],
)
async def test_a_look_at_a_task_that_fails_is_made_again(
    era: str, trouble: ToolcribError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_tasks, "LOOK_AGAIN", RetryPolicy(initial_delay_ms=1))
    server = Workshop(era, {"status": "working"}, {"status": "completed"})
    async with read_counter(server) as gateway:
        link = server.open_links[-1]
        link.request = _failing_looks(link.request, trouble, trouble, trouble)  # type: ignore[method-assign]
        outcome = await built(gateway)

    assert outcome.value == "built"
    assert len(server.asked("tools/call")) == 1


async def test_a_task_whose_server_answers_no_more_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_tasks, "LOOK_AGAIN", RetryPolicy(initial_delay_ms=1))
    trouble = RateLimited("files limits how often it can be called")
    server = Workshop("modern", {"status": "working"}, {"status": "completed"})
    async with read_counter(server) as gateway:
        link = server.open_links[-1]
        link.request = _failing_looks(link.request, *[trouble] * 4)  # type: ignore[method-assign]
        outcome = await built(gateway)

    assert outcome.error is not None
    assert (outcome.error.code, len(server.asked("tools/call"))) == ("SERVER_CONNECTION_ERROR", 1)
    assert "Outcome unknown" in outcome.error.hint


def _failing_looks(request: Any, *troubles: ToolcribError) -> Any:
    """A link on which looks at a task fail so, one after the other, before they reach the server."""
    left = list(troubles)

    async def failing(id: int, method: str, *more: Any) -> bytes:
        if method == "tasks/get" and left:
            raise left.pop()
        return bytes(await request(id, method, *more))

    return failing


def _wanting_a_sign_in(request: Any) -> Any:
    """A link whose token runs out once the task has begun."""

    async def refused(id: int, method: str, *more: Any) -> bytes:
        if method == "tasks/get":
            raise sign_in_required("files", "the sign-in was withdrawn")
        return bytes(await request(id, method, *more))

    return refused


async def _nobody(_: Question) -> Mapping[str, Any]:
    raise AssertionError
