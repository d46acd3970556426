"""T18: a server that floods us with notifications or questions costs itself, and hardly anything else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.calls.clients import ADDRESS, ALL, PROMPT, Client, Person, form
from tests.fakes import FakeServer, eventually, text, tool
from tests.gateways import read_counter
from toolcrib.model.asking import Question
from toolcrib.model.call import CallEvent, LogMessage, Progress, ToolCall
from toolcrib.wire import jsonrpc

MESSAGES = 10_000


async def test_t18_ten_thousand_notices_are_one_reading() -> None:
    server = FakeServer("noisy", [tool("shout")], capabilities={"tools": {"listChanged": True}})
    async with read_counter(server) as gateway:
        await gateway.execute_tool("noisy", "shout", {})
        before, loop = server.count("tools/list"), asyncio.get_running_loop()
        began = loop.time()
        for _ in range(100):
            for _ in range(100):
                server.notify("notifications/tools/list_changed")
            await asyncio.sleep(0.005)
        await eventually(lambda: server.count("tools/list") > before)
        await gateway.execute_tool("noisy", "shout", {})

        assert server.count("tools/list") - before <= 2 + (loop.time() - began)


async def test_t18_a_flood_of_progress_and_log_messages_is_heard_at_a_pace() -> None:
    async def chatter(params: dict[str, Any]) -> dict[str, Any]:
        for step in range(MESSAGES):
            noisy.notify(
                "notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": step}
            )
            noisy.notify("notifications/message", {"level": "error", "data": step})
        return text("done")

    noisy = FakeServer("noisy", [tool("shout")], era="legacy", methods={"tools/call": chatter})
    heard: list[CallEvent] = []
    async with read_counter(noisy) as gateway:
        call = ToolCall("noisy", "shout", {}, b"{}", listener=heard.append, log_level="debug", wants_progress=True)
        outcome = await gateway.execute(call)

    assert outcome.success
    progress = [event.params["progress"] for event in heard if isinstance(event, Progress)]
    logs = [event.params["data"] for event in heard if isinstance(event, LogMessage)]
    # The first ones as they come, and the last word of all.
    assert progress[:100] == logs[:100] == list(range(100))
    assert progress[-1] == MESSAGES - 1
    assert len(progress) + len(logs) < MESSAGES / 10
    assert "log messages of noisy were left out" in logs[-1]


async def test_t18_progress_of_no_call_is_heard_by_nobody() -> None:
    async def gossip(params: dict[str, Any]) -> dict[str, Any]:
        own = params["_meta"]["progressToken"]
        for token in (own + 1, str(own), None, [own], own):
            noisy.notify("notifications/progress", {"progressToken": token, "progress": 1, "message": str(token)})
        return text("done")

    noisy = FakeServer("noisy", [tool("shout")], era="legacy", methods={"tools/call": gossip})
    heard: list[CallEvent] = []
    async with read_counter(noisy) as gateway:
        call = ToolCall("noisy", "shout", {}, b"{}", listener=heard.append, wants_progress=True)
        assert (await gateway.execute(call)).success
    assert len(heard) == 1


async def test_t18_requests_without_end_are_answered_at_a_pace() -> None:
    server = FakeServer("noisy", [tool("shout")], era="legacy")
    async with read_counter(server) as gateway:
        await gateway.execute_tool("noisy", "shout", {})
        (link,) = server.open_links
        loop = asyncio.get_running_loop()
        began = loop.time()
        answers = [loop.create_future() for _ in range(MESSAGES)]
        for number, answer in enumerate(answers):
            link._asked[f"n{number}"] = answer
            link.feed(jsonrpc.request(f"n{number}", "ping"))
            if number % 50 == 0:
                await asyncio.sleep(0)
        await gateway.execute_tool("noisy", "shout", {})
        assert 0 < sum(answer.done() for answer in answers) <= 200 + 50 * (loop.time() - began)


async def test_t18_a_call_asks_a_person_only_so_often() -> None:
    client = Client(ALL)
    answers = await asked_in_a_call(client, *[form()] * 50)

    assert len(client.asked) == 20
    assert ["error" in answer for answer in answers] == [False] * 20 + [True] * 30


async def test_t18_the_model_of_a_client_is_used_only_where_the_person_agrees() -> None:
    person = Person(None)
    (answer,) = await asked_in_a_call(person, PROMPT)

    assert answer["error"]["message"] == "the person did not allow it"
    (question,) = person.asked
    assert question.kind == "elicitation"


async def test_t18_who_asks_and_the_host_of_an_address_are_shown() -> None:
    client = Client(ALL)
    await asked_in_a_call(client, form("Which one?"), ADDRESS)

    messages = [json.loads(question.params)["message"] for question in client.asked]
    assert messages == ["noisy asks: Which one?", "noisy asks you to open example.com: Go"]


async def asked_in_a_call(client: Client, *questions: Question) -> list[dict[str, Any]]:
    """What a server hears that asks these questions, one after the other, in the middle of a call of this client."""
    answers: list[dict[str, Any]] = []

    async def ask(_: dict[str, Any]) -> dict[str, Any]:
        (link,) = server.open_links
        of = max(link._answering)
        answers.extend([await link.ask(one.method, json.loads(one.params), of) for one in questions])
        return text("done")

    server = FakeServer("noisy", [tool("shout")], methods={"tools/call": ask})
    async with read_counter(server) as gateway:
        await gateway.execute(ToolCall("noisy", "shout", {}, b"{}", conversation=client))
    return answers
