"""T1: whatever a server hides in its words, agents get none of it; what its tools give back passes as it is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.stdio_gateway import LineClient, Workshop

PROGRAMS = Path(__file__).with_name("programs")
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ue000-\uf8ff\ufe01\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
ENTRY = {"command": sys.executable, "args": ["-I", "-S", str(PROGRAMS / "hidden_words.py")]}


async def test_t01_no_agent_gets_hidden_characters_in_names_texts_or_errors(workshop: Workshop) -> None:
    workshop.configure({"evil": ENTRY}, trust={"scan": False})
    async with workshop.lines() as client:
        await client.initialize()
        hits = answer_of(await client.call(1, "search_tools", query="read a note"))["results"]
        await client.call(2, "list_mcp_servers")
        listed = answer_of(await client.call(3, "list_tools", server="evil"))["tools"]
        (odd,) = (one["name"] for one in listed if one["name"].startswith("read"))
        assert odd in [hit["tool"] for hit in hits]
        details = answer_of(await client.call(4, "get_tool_details", server="evil", tool=odd))
        assert details["description"].startswith("Reads a note.")
        await client.call(
            5, "execute_tool", server="toolcrib", tool="get_schema", arguments={"server": "evil", "tool": odd}
        )
        await client.call(6, "execute_tool", server="evil", tool="\u202enowhere", arguments={})
        await failing(client)
        prompts = (await client.ask(8, "prompts/list"))["result"]["prompts"]
        resources = (await client.ask(9, "resources/list"))["result"]["resources"]
        got = await client.ask(10, "prompts/get", name=prompts[0]["name"])
        read = await client.ask(11, "resources/read", uri=resources[0]["uri"])
        passed = [got, read]
        # Under the name that is shown, the server is asked for what it calls it.
        ran = await client.execute(12, "evil", odd)

        told = [message for message in client.messages if message.get("id") not in (10, 11, 12)]
        assert {"notifications/progress", "notifications/message"} <= {message.get("method") for message in told}
        assert [text for text in texts(told) if HIDDEN.search(text)] == []
        assert "\u202e" in ran["content"][0]["text"].partition(" said ")[0]
        assert all(any("\u202e" in text for text in texts(answer)) for answer in passed)


async def failing(client: LineClient) -> None:
    params = {"name": "execute_tool", "arguments": {"server": "evil", "tool": "fail", "arguments": {}}}
    refused = await client.ask(7, "tools/call", **params, _meta={"progressToken": "mine"})
    assert json.loads(refused["result"]["content"][0]["text"])["error"]["rpcCode"] == -32000


def answer_of(message: dict[str, Any]) -> Any:
    return json.loads(message["result"]["content"][0]["text"])


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "x\u202e"}),
        ("resources/read", {"uri": "res://a\u202eb\u2028"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "a\u202e"}, "argument": {"name": "a", "value": "b"}},
        ),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "a\u202e"}, "argument": {"name": "a", "value": "b"}},
        ),
        ("tools/call", {"name": "no\u202etool"}),
        ("tools/call", {"name": "execute_tool", "arguments": {"server": "ev\u202eil", "tool": "a\u2066"}}),
        ("tools/call", {"name": "execute_tool", "arguments": {"server": "evil", "tool": "no\u202ewhere\U000e0041"}}),
        ("tools/call", {"name": "get_tool_details", "arguments": {"server": "ev\u202eil", "tool": "x"}}),
        ("tools/call", {"name": "list_tools", "arguments": {"server": "ev\u202eil"}}),
        ("logging/setLevel", {"level": "lo\u202eud"}),
        ("no\u202emethod", {}),
    ],
)
async def test_t01_our_own_errors_repeat_nothing_that_hides_or_steers(
    workshop: Workshop, method: str, params: dict[str, Any]
) -> None:
    workshop.configure({"evil": ENTRY}, trust={"scan": False})
    async with workshop.lines() as client:
        await client.initialize()
        answer = await client.ask(1, method, **params)

    assert "error" in answer or answer["result"]["isError"]
    assert [text for text in texts(answer) if HIDDEN.search(text)] == []


async def test_t01_a_question_of_a_server_hides_nothing(workshop: Workshop) -> None:
    workshop.configure({"evil": ENTRY}, trust={"scan": False})
    async with workshop.lines() as client:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "a", "version": "1"},
        }
        await client.ask("hello", "initialize", **hello)
        client.send({"method": "notifications/initialized"})
        client.send(
            {
                "id": 1,
                "method": "tools/call",
                "params": {"name": "execute_tool", "arguments": {"server": "evil", "tool": "ask"}},
            }
        )
        asked = await client.until(
            lambda: next((one for one in client.messages if one.get("method") == "elicitation/create"), None)
        )
        client.send({"id": asked["id"], "result": {"action": "decline"}})
        await client.answer(1)

    assert "Who?" in asked["params"]["message"]
    assert [text for text in texts(asked) if HIDDEN.search(text)] == []


def texts(value: Any) -> Iterator[str]:
    """Every text in a message, the names of members included, and those of JSON in a text."""
    if isinstance(value, str):
        yield value
        with suppress(ValueError):
            yield from texts(json.loads(value) if value.startswith("{") else None)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
