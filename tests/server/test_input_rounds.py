"""Clients that answer questions by calling again, in front of servers that ask in the older way."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.gateways import read_counter
from toolcrib.config.paths import Paths
from toolcrib.gateway import Gateway
from toolcrib.model.call import CallEvent, Progress
from toolcrib.model.caller import Caller, Rights
from toolcrib.server import parked_calls
from toolcrib.server.input_rounds import ModernClient
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.requests import Request
from toolcrib.storage.audit_trail import AuditTrail
from toolcrib.wire.jsonrpc import RpcError

AGENT = Caller("agent", "stdio", "stdio:agent", session="s-1")
ACCEPT = {"action": "accept", "content": {}}
ELICITATION = {"elicitation": {}}


class Asking(FakeServer):
    """An old server with a tool that asks so many questions, one after the other, and a tool that does not."""

    def __init__(self, questions: int = 1) -> None:
        super().__init__(definitions=[tool("ask"), tool("other")], era="legacy")
        self.methods["tools/call"] = self._called
        self.questions = questions
        self.token = 0
        self.answers: list[dict[str, Any]] = []
        self.ended = 0

    async def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        token = self.token = params["_meta"]["progressToken"]
        if params["name"] == "other":
            await asyncio.get_running_loop().create_future()
        for number in range(self.questions):
            link = self.open_links[-1]
            self.answers.append(await link.ask("elicitation/create", {"message": f"Question {number}"}, of=token))
            self.notify("notifications/progress", {"progressToken": token, "progress": number})
        self.ended += 1
        return text("done")


class Door:
    """A client of the newest revision, request by request."""

    def __init__(self, meta_tools: MetaTools, gateway: Gateway | None = None) -> None:
        self.meta_tools = meta_tools
        self._gateway = gateway

    @property
    def gateway(self) -> Gateway:
        assert self._gateway is not None
        return self._gateway

    async def call(
        self,
        tool: str = "ask",
        server: str = "files",
        given: Mapping[str, Any] | None = None,
        meta_tool: str = "execute_tool",
        **more: Any,
    ) -> dict[str, Any]:
        """Each member of the answer to one request, decoded."""
        arguments = msgspec.json.encode({"server": server, "tool": tool, "arguments": given or {}})
        members = await self.meta_tools.call(meta_tool, arguments, request(**more))
        return {name: msgspec.json.decode(value) for name, value in members.items()}

    async def answer(self, asked: Mapping[str, Any], answers: Mapping[str, Any] | None = None, **more: Any) -> Any:
        given = dict.fromkeys(asked["inputRequests"], ACCEPT) if answers is None else answers
        return await self.call(state=asked["requestState"], responses=json.dumps(given).encode(), **more)


def request(
    caller: Caller = AGENT,
    capabilities: Mapping[str, Any] | None = None,
    state: object = None,
    responses: bytes | None = None,
    heard: list[CallEvent] | None = None,
) -> Request:
    client = ModernClient(ELICITATION if capabilities is None else capabilities, responses, state)
    listener = None if heard is None else heard.append
    return Request(caller, listener, None, {"progressToken": 1}, modern=client)


@asynccontextmanager
async def door(server: FakeServer, **settings: Any) -> AsyncIterator[Door]:
    async with read_counter(server, **settings) as gateway:
        yield Door(MetaTools(gateway), gateway)


def code(answer: Mapping[str, Any]) -> str:
    return json.loads(answer["content"][0]["text"])["error"]["code"]


async def test_a_parked_call_goes_on_with_the_answer() -> None:
    server = Asking()
    async with door(server) as client:
        asked = await client.call()
        done = await client.answer(asked)

    assert asked["resultType"] == "input_required"
    (question,) = asked["inputRequests"].values()
    assert question["method"] == "elicitation/create"
    assert done["content"] == [{"type": "text", "text": "done"}]
    assert [answer["result"] for answer in server.answers] == [ACCEPT]
    assert server.calls == [("ask", {})]


async def test_each_round_has_a_state_of_its_own_and_the_former_one_is_spent() -> None:
    server = Asking(questions=2)
    async with door(server) as client:
        first = await client.call()
        second = await client.answer(first)
        again = await client.answer(first)
        done = await client.answer(second)

    assert second["requestState"] != first["requestState"]
    assert second["inputRequests"].keys().isdisjoint(first["inputRequests"])
    assert (code(again), again["isError"]) == ("OUTCOME_UNKNOWN", True)
    assert done["content"] == [{"type": "text", "text": "done"}]
    assert len(server.answers) == 2


@pytest.mark.parametrize("answers", [{}, {"someone": ACCEPT}, {"q1": "yes"}, {"q1": None}])
async def test_what_is_not_answered_is_asked_again(answers: dict[str, Any]) -> None:
    server = Asking()
    async with door(server) as client:
        asked = await client.call()
        again = await client.answer(asked, answers)
        done = await client.answer(again)

    assert again["inputRequests"] == asked["inputRequests"]
    assert done["content"] == [{"type": "text", "text": "done"}]
    assert len(server.answers) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"caller": replace(AGENT, key="stdio:somebody")},
        {"caller": replace(AGENT, session="s-2")},
        {"tool": "other"},
        {"server": "other"},
        {"given": {"path": "/"}},
        {"caller": replace(AGENT, rights=Rights(read_only=True, label="profile look"))},
        {"meta_tool": "execute_read_only"},
    ],
    ids=str,
)
async def test_a_state_of_one_call_is_of_no_use_for_another(other: dict[str, Any]) -> None:
    server = Asking()
    async with door(server, read_only_tool=True) as client:
        asked = await client.call()
        with pytest.raises(RpcError) as refused:
            await client.answer(asked, **other)
        assert server.answers == []
        assert (await client.answer(asked))["content"] == [{"type": "text", "text": "done"}]

    assert refused.value.code == -32602


async def test_nobody_comes_back_and_the_server_hears_cancel() -> None:
    server = Asking()
    async with door(server, question_seconds=0.05) as client:
        asked = await client.call()
        await eventually(lambda: server.ended)
        await asyncio.sleep(0.01)
        late = await client.answer(asked)

    assert [answer["result"] for answer in server.answers] == [{"action": "cancel"}]
    assert code(late) == "OUTCOME_UNKNOWN"


async def test_a_call_that_nobody_comes_back_for_ends_though_it_reports_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parked_calls, "ALONE_SECONDS", 0.2)
    server = Asking()
    asks = server.methods["tools/call"]

    async def for_ever(params: dict[str, Any]) -> Any:
        await asks(params)  # type: ignore[misc]
        while True:
            await asyncio.sleep(0.02)
            server.notify("notifications/progress", {"progressToken": server.token, "progress": 1})

    server.methods["tools/call"] = for_ever
    async with door(server, question_seconds=0.05) as client:
        await client.call()
        await eventually(lambda: server.cancelled)
        await eventually(lambda: not client.meta_tools.waiting_calls)

    assert server.ended == 1


async def test_a_session_that_ends_cancels_what_it_parked() -> None:
    server = Asking()
    async with door(server) as client:
        await client.call()
        await client.meta_tools.close()
        await eventually(lambda: server.cancelled)

    assert server.answers == []


async def test_a_request_that_is_given_up_takes_its_call_with_it() -> None:
    server = Asking()
    async with door(server) as client:
        waiting = asyncio.create_task(client.call("other"))
        await eventually(lambda: server.calls)
        waiting.cancel()
        await eventually(lambda: server.cancelled)

    assert waiting.cancelled()


async def test_the_ninth_parked_call_of_a_client_is_refused() -> None:
    server = Asking()
    async with door(server) as client:
        parked = [await client.call() for _ in range(8)]
        ninth = await client.call()
        somebody = await client.call(caller=replace(AGENT, session="s-2"))

    assert {answer["resultType"] for answer in parked} == {"input_required"}
    assert ninth["content"] == [{"type": "text", "text": "done"}]  # the tool went on without an answer
    assert "too many calls wait" in server.answers[0]["error"]["message"]
    assert somebody["resultType"] == "input_required"


async def test_calls_that_ask_at_the_same_moment_are_counted_too() -> None:
    server, all_there = Asking(), asyncio.Barrier(12)
    asks = server.methods["tools/call"]

    async def together(params: dict[str, Any]) -> Any:
        await all_there.wait()
        return await asks(params)  # type: ignore[misc]

    server.methods["tools/call"] = together
    async with door(server) as client:
        answers = await asyncio.gather(*(client.call() for _ in range(12)))
        waiting = [answer for answer in answers if "requestState" in answer]
        assert len(waiting) == client.meta_tools.waiting_calls == 8
        server.methods["tools/call"] = asks
        for answer in waiting:
            assert (await client.answer(answer))["content"] == [{"type": "text", "text": "done"}]
        assert "requestState" in await client.call()


async def test_only_so_many_calls_wait_in_all() -> None:
    server = Asking()
    async with door(server, max_parked_calls=2) as client:
        callers = [replace(AGENT, session=f"s-{number}") for number in range(3)]
        answers = [await client.call(caller=caller) for caller in callers]

    assert [answer.get("resultType") for answer in answers] == ["input_required", "input_required", None]


async def test_calls_of_all_clients_of_an_engine_share_the_room() -> None:
    server = Asking()
    async with door(server, max_parked_calls=2) as client:
        other = Door(MetaTools(client.gateway))
        first = await client.call()
        second = await other.call(caller=replace(AGENT, session="s-2"))
        third = await other.call(caller=replace(AGENT, session="s-3"))
        assert [answer.get("resultType") for answer in (first, second, third)] == ["input_required"] * 2 + [None]
        await client.answer(first)
        assert (await other.call(caller=replace(AGENT, session="s-3")))["resultType"] == "input_required"
        await other.meta_tools.close()
        assert (await client.call())["resultType"] == "input_required"


async def test_the_audit_log_says_how_often_a_client_was_asked_and_that_it_did_not_come_back() -> None:
    async with door(Asking(questions=2)) as client:
        asked = await client.call()
        await client.answer(await client.answer(asked))
        await client.call()
        await client.meta_tools.close()

    assert recorded() == [("OK", 2, False), ("ABANDONED", 1, True)]


async def test_an_answer_that_comes_too_late_leaves_an_abandoned_call() -> None:
    server = Asking()
    async with door(server, question_seconds=0.05) as client:
        await client.call()
        await eventually(recorded)

    assert recorded() == [("ABANDONED", 1, True)]
    assert server.answers[0]["result"] == {"action": "cancel"}


async def test_each_relayed_round_is_a_line_of_its_own_and_no_failure() -> None:
    question = {"method": "elicitation/create", "params": {"message": "Which?"}}
    interim = {"resultType": "input_required", "requestState": "s", "inputRequests": {"a": question, "b": question}}
    server = FakeServer(definitions=[tool("ask")])
    server.methods["tools/call"] = lambda params: text("done") if "requestState" in params else interim
    async with door(server) as client:
        await client.answer(await client.call())

    assert recorded() == [("INPUT_REQUIRED", 2, False), ("OK", 0, False)]


async def test_what_a_person_agreed_to_once_goes_on_once() -> None:
    question = {"method": "elicitation/create", "params": {"message": "Which?"}}
    interim = {"resultType": "input_required", "requestState": "s", "inputRequests": {"a": question}}
    server = FakeServer(definitions=[tool("delete_repo")])
    server.methods["tools/call"] = lambda params: text("gone") if "requestState" in params else interim
    agreed = {"q1": {"action": "accept", "content": {"run": "once"}}}
    how: dict[str, Any] = {"tool": "delete_repo", "given": {"repo": "site"}}
    async with door(server, confirm="destructive") as client:
        asked = await client.answer(await client.call(**how), agreed, **how)
        done = await client.answer(asked, **how)
        again = [await client.answer(asked, **how) for _ in range(2)]
        agreed_again = await client.answer(again[0], agreed, **how)

    assert list(asked["inputRequests"]) == ["a"]
    assert done["content"] == [{"type": "text", "text": "gone"}]
    for one in again:
        assert "delete_repo" in one["inputRequests"]["q1"]["params"]["message"]
    assert agreed_again["content"] == [{"type": "text", "text": "gone"}]
    assert len(server.calls) == 3


def recorded() -> list[tuple[str, int, bool]]:
    """Outcome and number of questions of each call, and whether it counts as failed."""
    records = AuditTrail(Paths.of(os.environ).audit_log).last(lambda _: True)
    return [(record.outcome, record.questions, record.failed) for record in records]


async def test_events_between_two_legs_are_told_on_the_next() -> None:
    server, first, second = Asking(questions=2), list[CallEvent](), list[CallEvent]()
    async with door(server) as client:
        asked = await client.call(heard=first)
        server.notify("notifications/progress", {"progressToken": server.token, "progress": 0.5})
        asked = await client.answer(asked, heard=second)
        await client.answer(asked)

    assert first == []
    assert second[:2] == [Progress({"progress": 0.5}), Progress({"progress": 0})]


async def test_a_client_that_can_not_be_asked_never_waits() -> None:
    server = Asking()
    async with door(server) as client:
        answer = await client.call(capabilities={})

    assert "resultType" not in answer
    assert server.answers[0]["error"]["code"] == -32601
