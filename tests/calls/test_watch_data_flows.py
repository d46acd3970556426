"""One session that reads what is private and what strangers wrote, and then calls a tool that can send data away."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import pytest

from tests.fakes import FakeServer, text, tool
from tests.gateways import read_counter
from toolcrib import Gateway
from toolcrib.calls.watch_data_flows import MOST_SESSIONS
from toolcrib.config.paths import Paths
from toolcrib.model.caller import Caller
from toolcrib.model.tool_rule import ToolRule

PRIVATE, FOREIGN, OUTWARD = ("files", "read_file"), ("web", "read_page"), ("chat", "send_message")
AGENT = Caller("agent", session="1")
WARNING = "send data away"


def servers() -> list[FakeServer]:
    named = (PRIVATE, FOREIGN, OUTWARD, ("clock", "get_time"))
    return [FakeServer(server, [tool(name)], tools={name: lambda _: text("done")}) for server, name in named]


async def ran(gateway: Gateway, calls: Sequence[tuple[str, str]], caller: Caller = AGENT) -> list[str]:
    """What became of each call: the code of its error, or nothing."""
    outcomes = [await gateway.execute_tool(server, name, caller=caller) for server, name in calls]
    return ["" if outcome.error is None else outcome.error.code for outcome in outcomes]


async def test_a_session_with_all_three_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async with read_counter(*servers()) as gateway:
        assert await ran(gateway, [PRIVATE, FOREIGN, OUTWARD, OUTWARD]) == ["", "", "", ""]

    [warning] = [record.getMessage() for record in caplog.records if WARNING in record.getMessage()]
    assert warning.startswith(
        "agent has read private data (files:read_file) and text from outside (web:read_page), and now calls "
        "chat:send_message"
    )
    lines = [json.loads(line) for line in Paths.of(os.environ).audit_log.read_text("ascii").splitlines()]
    assert [line.get("findings") for line in lines if line["outcome"] == "OK"] == [
        None,
        None,
        "mixed-flow",
        "mixed-flow",
    ]


@pytest.mark.parametrize(
    "calls",
    [
        [PRIVATE, OUTWARD],
        [FOREIGN, OUTWARD],
        [OUTWARD, PRIVATE, FOREIGN],
        [PRIVATE, FOREIGN, ("clock", "get_time")],
    ],
)
async def test_two_of_the_three_are_nothing(calls: list[tuple[str, str]], caplog: pytest.LogCaptureFixture) -> None:
    async with read_counter(*servers()) as gateway:
        await ran(gateway, calls)
    assert WARNING not in caplog.text


async def test_sessions_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    async with read_counter(*servers()) as gateway:
        await ran(gateway, [PRIVATE, FOREIGN])
        await ran(gateway, [OUTWARD], Caller("agent", session="2"))
        await ran(gateway, [OUTWARD], Caller("agent", key="other", session="1"))
    assert WARNING not in caplog.text


async def test_a_person_is_asked_first_where_that_is_wanted() -> None:
    offered = servers()
    async with read_counter(*offered, on_mix="confirm") as gateway:
        assert await ran(gateway, [OUTWARD, PRIVATE, FOREIGN, OUTWARD]) == ["", "", "", "CONFIRMATION_REQUIRED"]
        agreed = await gateway.execute_tool(*OUTWARD, caller=AGENT, confirmed=True)
    assert agreed.success
    assert len(offered[2].calls) == 2


async def test_a_rule_can_say_that_a_tool_needs_no_question() -> None:
    rules = (ToolRule(("chat:*",), confirm=False),)
    async with read_counter(*servers(), on_mix="confirm", tool_rules=rules) as gateway:
        assert await ran(gateway, [PRIVATE, FOREIGN, OUTWARD]) == ["", "", ""]


async def test_it_can_be_switched_off(caplog: pytest.LogCaptureFixture) -> None:
    async with read_counter(*servers(), on_mix="ignore") as gateway:
        await ran(gateway, [PRIVATE, FOREIGN, OUTWARD])
    assert WARNING not in caplog.text


async def test_the_session_that_is_longest_silent_is_forgotten_first(caplog: pytest.LogCaptureFixture) -> None:
    async with read_counter(*servers()) as gateway:
        for session in ("old", "kept"):
            await ran(gateway, [PRIVATE, FOREIGN], Caller("agent", session=session))
        for number in range(MOST_SESSIONS - 1):
            await ran(gateway, [PRIVATE], Caller("agent", session=f"n{number}"))
        for session in ("kept", "old"):
            await ran(gateway, [OUTWARD], Caller("agent", session=session))
    assert caplog.text.count(WARNING) == 1
