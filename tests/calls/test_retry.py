from __future__ import annotations

from typing import Any

import pytest

from tests.calls.steps import Upstream, a_call, aimed, through
from tests.fakes import text, tool
from toolcrib.calls.retry import Retry
from toolcrib.errors import CallTimeout, InvalidArguments, Problem, ServerConnectionError, ToolExecutionError
from toolcrib.model.asking import Conversation
from toolcrib.model.call import ToolCall, ToolResult

DONE = ToolResult.of(text("done"))


def lost(*, sent: bool, hint: str = "") -> ServerConnectionError:
    return ServerConnectionError("it went away", server="files", sent=sent, hint=hint)


def hinting(**annotations: Any) -> ToolCall:
    return aimed(tool("read", annotations=annotations))


async def test_a_call_that_was_never_sent_is_made_once_more() -> None:
    upstream = Upstream(lost(sent=False), DONE)

    assert await through(Retry(), a_call(), upstream) is DONE
    assert len(upstream.calls) == 2


async def test_it_is_made_once_more_and_not_for_ever() -> None:
    upstream = Upstream(lost(sent=False))

    with pytest.raises(ServerConnectionError):
        await through(Retry(), a_call(), upstream)
    assert len(upstream.calls) == 2


@pytest.mark.parametrize("call", [hinting(readOnlyHint=True), hinting(idempotentHint=True)])
async def test_a_call_that_was_sent_is_repeated_where_that_changes_nothing(call: ToolCall) -> None:
    upstream = Upstream(lost(sent=True), DONE)

    assert await through(Retry(), call, upstream) is DONE


@pytest.mark.parametrize(
    "call",
    [
        a_call(),
        hinting(),
        hinting(readOnlyHint=False),
        hinting(readOnlyHint="yes"),
        hinting(destructiveHint=False),
        aimed({"name": "read", "annotations": ["readOnlyHint"]}),
    ],
)
async def test_any_other_call_that_was_sent_is_not_repeated_and_its_outcome_is_unknown(call: ToolCall) -> None:
    upstream = Upstream(lost(sent=True))

    with pytest.raises(ServerConnectionError) as caught:
        await through(Retry(), call, upstream)
    assert len(upstream.calls) == 1
    assert caught.value.hint.startswith("Outcome unknown")


async def test_what_else_the_error_advises_is_kept() -> None:
    with pytest.raises(ServerConnectionError) as caught:
        await through(Retry(), a_call(), Upstream(lost(sent=True, hint="Look into its log.")))
    assert caught.value.hint.startswith("Outcome unknown")
    assert caught.value.hint.endswith("Look into its log.")


@pytest.mark.parametrize(
    "error",
    [
        CallTimeout("late", server="files"),
        ToolExecutionError("no", server="files"),
        InvalidArguments([Problem("x", "wrong")]),
    ],
)
async def test_no_other_failure_is_repeated(error: Exception) -> None:
    upstream = Upstream(error)

    with pytest.raises(type(error)):
        await through(Retry(), hinting(readOnlyHint=True), upstream)
    assert len(upstream.calls) == 1


async def test_a_tool_that_says_it_failed_is_not_run_again() -> None:
    upstream = Upstream(ToolResult(b'{"content":[],"isError":true}'))

    await through(Retry(), hinting(readOnlyHint=True), upstream)

    assert len(upstream.calls) == 1


async def test_a_call_whose_question_was_answered_is_not_repeated() -> None:
    upstream = Upstream(ServerConnectionError("lost", server="files", sent=True))
    call = aimed(tool("look", annotations={"readOnlyHint": True})).but(conversation=Answered())

    with pytest.raises(ServerConnectionError) as failed:
        await through(Retry(), call, upstream)

    assert len(upstream.calls) == 1
    assert "Outcome unknown" in failed.value.hint


class Answered(Conversation):
    """A client that has answered a question of this call."""

    capabilities: dict[str, Any] = {}  # noqa: RUF012 - never changed
    was_asked = True
