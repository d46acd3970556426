"""A person confirms calls before they run, through the doors of clients of both eras and the library."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.fakes import FakeServer, FakeServers, spec, tool
from tests.gateways import read_counter
from tests.items import library
from tests.processor_time import within
from toolcrib import Gateway, Settings, open_gateway
from toolcrib.calls.confirm_form import MOST_CHARACTERS, message
from toolcrib.config.paths import Paths
from toolcrib.config.profiles import Profile
from toolcrib.model.call import Target, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.model.tool import Tool
from toolcrib.model.tool_rule import ToolRule
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server
from toolcrib.workspace.workspace import rule_book

MODES = ("legacy", "2026-07-28")
DESTROYING, WRITING, READING = "delete_repo", "create_issue", "get_issue"


def github() -> FakeServer:
    return FakeServer(
        "github", [tool(DESTROYING), tool(WRITING), tool(READING), tool("run", annotations={"destructiveHint": True})]
    )


class Person:
    """Somebody who answers so whenever they are asked, and remembers what that was."""

    def __init__(self, *answers: Mapping[str, Any] | None) -> None:
        self._answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def _answer(self, params: dict[str, Any]) -> Mapping[str, Any]:
        self.asked.append(params)
        given = self._answers[min(len(self.asked), len(self._answers)) - 1]
        return {"action": "decline"} if given is None else {"action": "accept", "content": given}

    async def elicited(self, _: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult.model_validate(self._answer(params.model_dump(by_alias=True, mode="json")))

    async def __call__(self, question: Any) -> Mapping[str, Any]:
        """For programs that use the library."""
        return self._answer(json.loads(question.params))

    @property
    def choices(self) -> list[list[str]]:
        return [asked["requestedSchema"]["properties"]["run"]["enum"] for asked in self.asked]


@asynccontextmanager
async def client(gateway: Gateway, mode: str, person: Person | None) -> AsyncIterator[Client]:
    answers = {} if person is None else {"elicitation_callback": person.elicited}
    server = build_server(MetaTools(gateway), instructions="")
    info = types.Implementation(name="agent", version="1")
    async with Client(server, mode=mode, client_info=info, **answers) as connected:
        yield connected


async def run(agent: Client, name: str, server: str = "github", **arguments: Any) -> Any:
    """What came of a call: its text, or the code of the error."""
    asked = {"server": server, "tool": name, "arguments": arguments}
    answer = await agent.call_tool("execute_tool", asked)
    text = getattr(answer.content[0], "text", "")
    return json.loads(text)["error"]["code"] if answer.is_error else text


@pytest.mark.parametrize("mode", MODES)
async def test_a_destructive_call_asks_in_both_eras(mode: str) -> None:
    server, person = github(), Person({"run": "once"})
    async with read_counter(server, confirm="destructive") as gateway, client(gateway, mode, person) as agent:
        for name in (READING, WRITING, DESTROYING, "run"):
            assert "error" not in await run(agent, name, owner="acme", repo="site"), name

    assert [name for name, _ in server.calls] == [READING, WRITING, DESTROYING, "run"]
    assert len(person.asked) == 2
    message = person.asked[0]["message"]
    assert message.startswith("Toolcrib: agent wants to run github:delete_repo (destructive).")
    assert 'owner: "acme", repo: "site"' in message


async def test_the_words_of_an_agent_do_not_pass_for_ours() -> None:
    server, person = github(), Person({"run": "no"})
    async with read_counter(server, confirm="writes") as gateway, client(gateway, "legacy", person) as agent:
        await run(agent, WRITING, title="1. Run it?\n\nToolcrib: this only reads.")

    assert 'title: "1. Run it?\\n\\nToolcrib: this only reads."' in person.asked[0]["message"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", [None, {}, {"run": "no"}, {"run": "yes"}, {"allow": "once"}], ids=str)
async def test_whoever_does_not_clearly_agree_has_said_no(mode: str, answer: Mapping[str, Any] | None) -> None:
    server, person = github(), Person(answer)
    async with read_counter(server, confirm="writes") as gateway, client(gateway, mode, person) as agent:
        assert await run(agent, WRITING) == "CALL_DECLINED"

    assert server.calls == []
    assert len(person.asked) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_can_not_ask_is_told_how(mode: str) -> None:
    server = github()
    async with read_counter(server, confirm="destructive") as gateway, client(gateway, mode, None) as agent:
        asked = {"server": "github", "tool": DESTROYING, "arguments": {}}
        answer = await agent.call_tool("execute_tool", asked)
        error = json.loads(getattr(answer.content[0], "text", ""))["error"]
        assert "error" not in await run(agent, WRITING)

    assert error["code"] == "CONFIRMATION_REQUIRED"
    assert "toolcrib execute github delete_repo" in error["hint"]
    assert "confirm: false" in error["hint"]
    assert [name for name, _ in server.calls] == [WRITING]


async def test_by_default_nobody_is_asked() -> None:
    server, person = github(), Person(None)
    async with read_counter(server) as gateway, client(gateway, "legacy", person) as agent:
        assert "error" not in await run(agent, DESTROYING)

    assert person.asked == []


async def test_a_rule_and_an_entry_say_more_than_the_setting() -> None:
    server, other, person = github(), FakeServer("disk", [tool("erase"), tool("write")]), Person({"run": "once"})
    rules = [
        ToolRule(("get_issue",), None, None, confirm=True),
        ToolRule(("delete_repo",), None, None, confirm=False),
        ToolRule(("run",), None, None, confirm=False),
        ToolRule(("github:run",), None, None, confirm=True),
    ]
    entries = (spec("github"), spec("disk", confirm="writes"))
    async with (
        read_counter(server, other, servers=entries, tool_rules=rules, confirm="destructive") as gateway,
        client(gateway, "legacy", person) as agent,
    ):
        for name in (READING, WRITING, DESTROYING, "run"):
            await run(agent, name)
        for name in ("erase", "write"):
            await run(agent, name, "disk")

    asked = [message["message"].split()[5] for message in person.asked]
    assert asked == ["github:get_issue", "github:run", "disk:erase", "disk:write"]


async def test_a_profile_asks_for_its_clients_whatever_holds_for_others() -> None:
    server, person = github(), Person({"run": "once"})
    rules = [ToolRule(("create_issue",), None, None, confirm=False)]
    profiles = {"careful": Profile("careful", confirm="writes")}
    how: dict[str, Any] = {"ask": person, "capabilities": {"elicitation": {}}}
    async with read_counter(server, tool_rules=rules, profiles=profiles) as gateway:
        for profile in ("", "careful"):
            for name in (READING, WRITING):
                caller = Caller("agent", rights=gateway.rights(profile))
                assert (await gateway.execute_tool("github", name, caller=caller, **how)).success

    assert [asked["message"].split()[5] for asked in person.asked] == ["github:create_issue"]


async def test_what_a_profile_asks_about_no_rule_allows() -> None:
    profiles = {"careful": Profile("careful", confirm="writes")}
    async with read_counter(github(), profiles=profiles) as gateway:
        caller = Caller("agent", rights=gateway.rights("careful"))
        refused = (await gateway.execute_tool("github", WRITING, caller=caller)).error

    assert refused is not None
    assert (refused.code, "toolcrib execute" in refused.hint) == ("CONFIRMATION_REQUIRED", True)
    assert "confirm: false" not in refused.hint


async def test_a_rule_can_ask_about_a_resource_and_never_about_what_only_proposes() -> None:
    person = Person({"run": "once"})
    rules = [ToolRule(("resource:db:*",), None, None, confirm=True)]
    async with (
        read_counter(library(), tool_rules=rules, confirm="writes") as gateway,
        client(gateway, "legacy", person) as agent,
    ):
        await run(agent, "resource:db://tables/{table}", "library", table="books")
        await run(agent, "resource:file:///work/README.md", "library")
        await run(agent, "introspect_server", "toolcrib", endpoint="some-command")

    assert [asked["message"].split()[5] for asked in person.asked] == ["library:resource:db://tables/books"]


@pytest.mark.parametrize(
    ("rule", "uri"),
    [
        ("resource:file:///work/README.md", "file:///work/README.md"),
        ("resource:file:///work/README.md", "file:///work/x/../README.md"),
        ("resource:file:///work/README.md", "file:///work/%52EADME.md"),
        ("resource:file:///work/README.md", "file:/work/README.md"),
        ("resource:db://tables/?table?", "db://tables/books"),
        ("resource:db://tables/secret", "db://tables/x/../secret"),
    ],
)
async def test_no_other_way_to_write_an_address_avoids_the_question(rule: str, uri: str) -> None:
    server, person = library(), Person({"run": "no"})
    rules = [ToolRule((rule,), None, None, confirm=True)]
    by_ours = {"server": "toolcrib", "tool": "read_resource", "arguments": {"server": "library", "uri": uri}}
    async with read_counter(server, tool_rules=rules) as gateway, client(gateway, "legacy", person) as agent:
        codes = [
            await run(agent, f"resource:{uri}", "library"),
            (await agent.call_tool("execute_tool", by_ours)).content,
        ]

    assert codes[0] == "CALL_DECLINED"
    assert "CALL_DECLINED" in str(codes[1])
    assert len(person.asked) == 2


async def test_a_question_about_megabytes_is_asked_at_once() -> None:
    call = ToolCall("github", DESTROYING, {"path": "token: " * 700_000}, b"{}")
    with within(1.0):
        asked = message(call, Target(Tool.from_mcp("github", tool(DESTROYING)), DESTROYING))

    assert "(4900008 characters)" in asked
    assert len(asked) < 1_000


async def test_a_consent_is_for_one_definition() -> None:
    """And for one session, one tool and one server; a new definition has nobody's consent."""
    server, other = github(), FakeServer("disk", [tool(DESTROYING)])
    person = Person({"run": "in this session"})
    settings = Settings(servers=(spec("github"), spec("disk")), confirm="destructive")
    session = Caller("agent", "stdio", "stdio:agent", session="s-1")
    how: dict[str, Any] = {"ask": person, "capabilities": {"elicitation": {}}}
    async with open_gateway(settings=settings, opener=FakeServers(server, other)) as gateway:
        assert await gateway.ready(20)
        for _ in range(2):
            assert (await gateway.execute_tool("github", DESTROYING, caller=session, **how)).success
        assert len(person.asked) == 1
        await gateway.execute_tool("github", "run", caller=session, **how)
        await gateway.execute_tool("disk", DESTROYING, caller=session, **how)
        await gateway.execute_tool("github", DESTROYING, caller=Caller("agent", "stdio", "x", session="s-2"), **how)
        assert len(person.asked) == 4
        server.definitions[0] = tool(DESTROYING, "Deletes everything.")
        settings_before = len(person.asked)
        await gateway.read_server("github")
        outcome = await gateway.execute_tool("github", DESTROYING, caller=session, **how)

    # Either it waits for review, or the person is asked again; it never runs on the old consent.
    assert not outcome.success or len(person.asked) == settings_before + 1


class Meanwhile(Person):
    """Agrees each time, but not before something else has happened."""

    def __init__(self, happens: Callable[[], Awaitable[None]]) -> None:
        super().__init__({"run": "once"})
        self._happens = happens

    async def elicited(self, context: Any, params: Any) -> types.ElicitResult:
        await self._happens()
        return await super().elicited(context, params)


@pytest.mark.parametrize("mode", MODES)
async def test_what_changes_while_a_person_thinks_is_not_run(mode: str) -> None:
    server = github()

    async def change() -> None:
        server.definitions[0] = tool(DESTROYING, "Deletes all that anybody has.")
        await gateway.read_server("github")

    person = Meanwhile(change)
    async with read_counter(server, confirm="destructive") as gateway, client(gateway, mode, person) as agent:
        assert await run(agent, DESTROYING) == "TOOL_CHANGED"

    assert server.calls == []
    assert len(person.asked) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_switched_off_while_a_person_thinks_is_not_run(mode: str) -> None:
    server = github()

    async def switch_off() -> None:
        workspace = gateway.workspace
        settings = replace(workspace.settings, tool_rules=(ToolRule(("delete*",), None, False),))
        workspace.configure(settings, rule_book(settings))

    person = Meanwhile(switch_off)
    async with read_counter(server, confirm="destructive") as gateway, client(gateway, mode, person) as agent:
        assert await run(agent, DESTROYING) == "TOOL_DISABLED"

    assert server.calls == []
    assert len(person.asked) == 1


async def test_a_definition_that_is_another_one_after_the_question_is_asked_about_anew() -> None:
    server, descriptions = github(), iter(["Deletes it.", "Deletes  it."])

    async def change() -> None:
        # Only space: this is taken over without a review, and yet the person was asked about the other one.
        server.definitions[0] = tool(DESTROYING, next(descriptions, "Deletes  it."))
        await gateway.read_server("github")

    server.definitions[0] = tool(DESTROYING, next(descriptions))
    person = Meanwhile(change)
    async with read_counter(server, confirm="destructive") as gateway, client(gateway, "legacy", person) as agent:
        assert "error" not in await run(agent, DESTROYING)

    assert [name for name, _ in server.calls] == [DESTROYING]
    assert len(person.asked) == 2


async def test_without_a_session_a_consent_is_for_once() -> None:
    server, person = github(), Person({"run": "in this session"})
    how: dict[str, Any] = {"ask": person, "capabilities": {"elicitation": {}}}
    async with read_counter(server, confirm="destructive") as gateway:
        for _ in range(2):
            assert (await gateway.execute_tool("github", DESTROYING, **how)).success

    assert person.choices == [["once", "no"], ["once", "no"]]


async def test_the_question_covers_secrets_and_has_an_end() -> None:
    server, person = github(), Person({"run": "once"})
    arguments = {
        "password": "hunter2-hunter2",
        "note": "first\x1b[2J\u202eline",
        "key": "ghp_0123456789abcdefghijABCDEFGHIJ0123456789",
        **{f"part{number}": "x" * 5_000 for number in range(40)},
    }
    async with read_counter(server, confirm="destructive") as gateway, client(gateway, "legacy", person) as agent:
        await run(agent, DESTROYING, **arguments)

    message = person.asked[0]["message"]
    assert "hunter2" not in message
    assert "ghp_0123" not in message
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert len(message) < MOST_CHARACTERS + 500
    assert "more that are not shown" in message
    assert server.calls[0][1] == arguments


async def test_a_program_may_say_that_the_person_has_agreed() -> None:
    server = github()
    async with read_counter(server, confirm="writes") as gateway:
        refused = await gateway.execute_tool("github", WRITING)
        done = await gateway.execute_tool("github", WRITING, confirmed=True)

    assert refused.error is not None
    assert refused.error.code == "CONFIRMATION_REQUIRED"
    assert done.success


async def test_the_log_says_what_a_call_does_and_what_was_decided() -> None:
    server, person = github(), Person({"run": "once"}, None)
    async with read_counter(server, confirm="destructive") as gateway, client(gateway, "legacy", person) as agent:
        for name in (READING, DESTROYING, DESTROYING, "no_such_tool"):
            await run(agent, name)

    lines = [json.loads(line) for line in Paths.of(os.environ).audit_log.read_text().splitlines()]
    calls = [line for line in lines if line.get("tool")]
    assert [(line.get("effect", ""), line.get("decision", "")) for line in calls] == [
        ("read", "allowed"),
        ("destructive", "confirmed"),
        ("destructive", "refused"),
        ("", "refused"),
    ]
    assert len(calls[0]["fingerprint"]) == 16
