from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.fakes import text, tool
from toolcrib.calls.introspect import introspect_output
from toolcrib.errors import CallTimeout, InvalidArguments, Problem, ToolcribError
from toolcrib.model.call import ToolResult
from toolcrib.model.tool import Tool

OWNER = {"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"]}
STRING = {"type": "string"}


def reading_tool(name: str = "list_issues", **more: Any) -> Tool:
    return Tool.from_mcp("github", tool(name, inputSchema=OWNER, **more))


class Server:
    """Answers each trial call with the next of its answers, and remembers the arguments."""

    def __init__(self, *answers: Mapping[str, Any] | ToolcribError) -> None:
        self._answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    async def __call__(self, arguments: Mapping[str, Any]) -> ToolResult:
        self.asked.append(arguments)
        answer = self._answers.pop(0)
        if isinstance(answer, ToolcribError):
            raise answer
        return ToolResult.of(answer)


async def test_one_call_with_the_least_arguments_shows_what_a_tool_returns() -> None:
    server = Server(text('[{"id": 1}]'))

    found = await introspect_output(reading_tool(), server)

    rows = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    assert found == {"type": "array", "items": rows}
    assert server.asked == [{"owner": ""}]


async def test_a_tool_that_does_not_answer_is_not_waited_for() -> None:
    async def never(_: Mapping[str, Any]) -> ToolResult:
        return await asyncio.get_running_loop().create_future()

    async with asyncio.timeout(10):
        assert await introspect_output(reading_tool(), never, seconds=0.01) is None


async def test_a_declared_schema_needs_no_call() -> None:
    server = Server()

    assert await introspect_output(reading_tool(outputSchema={"type": "object"}), server) == {"type": "object"}
    assert server.asked == []


@pytest.mark.parametrize(
    "found",
    [
        reading_tool("create_issue"),
        reading_tool("get_or_create_issue"),
        reading_tool("list_issues", annotations={"readOnlyHint": False}),
        reading_tool("list_issues", annotations={"destructiveHint": True}),
    ],
)
async def test_a_tool_that_may_change_something_is_never_called(found: Tool) -> None:
    server = Server()

    assert await introspect_output(found, server) is None
    assert server.asked == []


@pytest.mark.parametrize(
    "failed",
    [
        {**text("no"), "isError": True},
        text("Missing required parameter: owner"),
        text("401 Unauthorized"),
        text("Forbidden"),
        text('{"error": {"message": "no such owner"}}'),
        InvalidArguments([Problem("owner", "must have at least 1 characters")]),
    ],
)
async def test_an_answer_that_reads_like_a_failure_gets_one_more_try_with_plausible_values(failed: Any) -> None:
    server = Server(failed, text("all fine"))

    assert await introspect_output(reading_tool(), server) == STRING
    assert server.asked == [{"owner": ""}, {"owner": "octocat"}]


async def test_two_failures_leave_it_unknown_and_there_is_no_third_call() -> None:
    server = Server(text("an error"), text("an error"))

    assert await introspect_output(reading_tool(), server) is None
    assert len(server.asked) == 2


@pytest.mark.parametrize("bound", ["minimum", "exclusiveMinimum", "maximum"])
async def test_a_bound_no_number_can_reach_is_no_trouble(bound: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", bound: 10**400}}, "required": ["n"]}
    server = Server(text('"done"'))

    found = await introspect_output(Tool.from_mcp("github", tool("list_issues", inputSchema=schema)), server)

    assert found == STRING
    assert server.asked == [{"n": 0}]


async def test_the_same_arguments_are_not_tried_twice() -> None:
    server = Server(text("an error"))

    assert await introspect_output(reading_tool(), server, {"owner": "me"}) is None
    assert server.asked == [{"owner": "me"}]


async def test_a_server_that_does_not_answer_is_not_asked_again() -> None:
    server = Server(CallTimeout("took too long", server="github"))

    assert await introspect_output(reading_tool(), server) is None
    assert len(server.asked) == 1


async def test_what_a_person_chose_is_sent_first() -> None:
    server = Server(text("fine"))

    await introspect_output(reading_tool(), server, {"owner": "me", "page": 1})

    assert server.asked == [{"owner": "me", "page": 1}]


@pytest.mark.parametrize("odd", [{"content": []}, {"content": [{"type": "image", "data": "a"}]}, text("x" * 70_000)])
async def test_an_answer_without_a_value_teaches_nothing(odd: dict[str, Any]) -> None:
    assert await introspect_output(reading_tool(), Server(odd, odd)) is None
