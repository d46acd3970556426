"""What servers ask, where several clients share an engine: each hears its own questions, and no engine's end mixes them up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import AsyncExitStack

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.host.test_commands import command
from tests.journeys.asking import Person, asking_server
from tests.journeys.stdio_gateway import MODES, LineClient, eventually, execute, execution, line_failure
from tests.servers.launch import Launch

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "lines", "version": "1"},
}
QUESTION = "What is your name?"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_two_clients_of_one_engine_are_asked_only_their_own_questions(shared: SharedWorkshop, era: str) -> None:
    shared.configure({"asking": asking_server(era)})
    people = [Person(name) for name in ("Ann", "Bob", "Cleo", "Dan")]

    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(shared.client(mode, name=person.name, **person.callbacks))
            for person, mode in zip(people, MODES * 2, strict=True)
        ]
        # Until it was seen asking, an old server is shared, and asks nobody while several call it.
        await execute(clients[0], "asking", "name")
        for person in people:
            person.asked.clear()
        told = await asyncio.gather(
            *(execute(client, "asking", "name") for client in clients for _ in range(3)),
        )

    names = [(answer.structured_content or {}).get("content", {}).get("name") for answer in told]
    assert names == [person.name for person in people for _ in range(3)]
    assert [len(person.asked) for person in people] == [3] * 4


async def test_real_servers_ask_each_client_of_an_engine_for_itself(
    shared: SharedWorkshop, everything_server: Launch
) -> None:
    shared.configure({"everything": everything_server})
    people = [Person("Ann"), Person("Bob")]

    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(shared.client(mode, name=person.name, **person.callbacks))
            for person, mode in zip(people, MODES, strict=True)
        ]
        alone = await execute(clients[0], "everything", "trigger-elicitation-request")
        assert "Name: Ann" in str(alone.content)
        told = await asyncio.gather(
            *(execute(client, "everything", "trigger-elicitation-request") for client in clients)
        )

    assert ["Name: Ann" in str(told[0].content), "Name: Bob" in str(told[1].content)] == [True, True]


async def test_an_answer_to_a_lost_engines_question_is_dropped(shared: SharedWorkshop) -> None:
    shared.configure({"asking": asking_server("legacy")})

    async with shared.lines() as client:
        await client.ask("hello", "initialize", **HELLO)
        client.send({"method": "notifications/initialized"}, execution(1, "asking", "name"))
        lost = await question(client, 1)
        os.kill(shared.engine(), signal.SIGKILL)
        assert line_failure((await client.answer(1))["result"])["code"] == "OUTCOME_UNKNOWN"

        client.send(execution(2, "asking", "name"))
        asked = await question(client, 2)
        assert asked["id"] != lost["id"]
        client.send(reply(lost, "Mallory"), reply(asked, "Ann"))
        answer = (await client.answer(2))["result"]

    assert answer["structuredContent"]["content"] == {"name": "Ann"}


async def test_a_call_that_waits_for_its_client_is_lost_with_the_engine(shared: SharedWorkshop) -> None:
    shared.configure({"asking": asking_server("legacy")})
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
    }
    arguments = {"server": "asking", "tool": "name", "arguments": {}}
    call = {"name": "execute_tool", "arguments": arguments, "_meta": meta}

    async with shared.lines() as client:
        waiting = (await client.ask(1, "tools/call", **call))["result"]
        assert waiting["resultType"] == "input_required"
        assert ", waiting for an answer" in (await command(shared, "engine", "status")).out
        assert "waiting for an answer" in (await command(shared, "calls")).out
        before = shared.engine()
        os.kill(before, signal.SIGKILL)
        await eventually(lambda: shared.engines() not in ([], [before]))
        responses = {key: {"action": "accept", "content": {"name": "Ann"}} for key in waiting["inputRequests"]}
        late = await client.ask(2, "tools/call", **call, inputResponses=responses, requestState=waiting["requestState"])

    assert line_failure(late["result"])["code"] == "OUTCOME_UNKNOWN"


async def question(client: LineClient, number: int) -> dict[str, object]:
    """The so many'th request of the gateway to its client."""

    def asked() -> list[dict[str, object]]:
        return [line for line in client.messages if line.get("method") == "elicitation/create"]

    await client.until(lambda: len(asked()) >= number)
    assert QUESTION in json.dumps(asked()[number - 1])
    return asked()[number - 1]


def reply(asked: dict[str, object], name: str) -> dict[str, object]:
    return {"id": asked["id"], "result": {"action": "accept", "content": {"name": name}}}
