from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.calls.steps import Upstream, a_call, through
from tests.fakes import INSTANT, text
from toolcrib.calls.answer_rounds import AnswerRounds
from toolcrib.calls.retry import Retry
from toolcrib.errors import CallTimeout, ClientCannotAnswer, ServerConnectionError, ToolcribError, ToolExecutionError
from toolcrib.model.asking import Conversation, InputRound, Question, QuestionRefused
from toolcrib.model.call import ToolCall, ToolResult

FORM = {"method": "elicitation/create", "params": {"message": "Which one?"}}
PROMPT = {"method": "sampling/createMessage", "params": {"messages": []}}
DONE = ToolResult.of(text("done"))
ALL = {"elicitation": {}, "sampling": {}, "roots": {}}


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


def interim(state: Any = None, **questions: Any) -> ToolResult:
    asked = {"inputRequests": questions} if questions else {}
    given = {} if state is None else {"requestState": state}
    return ToolResult.of({"resultType": "input_required", **asked, **given})


class Client(Conversation):
    """Answers by the kind of the question; a kind that is missing is refused."""

    def __init__(self, answers: Mapping[str, Any], *, capabilities: Any = None, takes_rounds: bool = False) -> None:
        self.capabilities = ALL if capabilities is None else capabilities
        self.takes_rounds = takes_rounds
        self.asked: list[Question] = []
        self.waiting = 0
        self.together = 0
        self._answers = answers

    async def ask(self, question: Question) -> bytes:
        self.asked.append(question)
        self.waiting += 1
        self.together = max(self.together, self.waiting)
        await asyncio.sleep(1)
        self.waiting -= 1
        if question.kind not in self._answers:
            raise QuestionRefused(-1, "not today")
        return msgspec.json.encode(self._answers[question.kind])


async def answered(upstream: Upstream, client: Client | None, *, rounds: int = 10, seconds: float = 300) -> ToolResult:
    return await through(AnswerRounds(lambda: rounds, lambda _: seconds), a_call(conversation=client), upstream)


async def test_a_round_is_driven_for_a_caller_that_takes_none() -> None:
    upstream = Upstream(interim("s-1", who=FORM, thought=PROMPT), interim(None, who=FORM), DONE)
    client = Client({"elicitation": {"action": "accept"}, "sampling": {"model": "m"}})

    assert await answered(upstream, client) is DONE

    first, second, third = (call.round for call in upstream.calls)
    assert first is None
    assert second is not None
    assert (json.loads(second.responses or b""), second.state) == (
        {"who": {"action": "accept"}, "thought": {"model": "m"}},
        "s-1",
    )
    assert third == InputRound(b'{"who":{"action":"accept"}}', None)
    assert client.together == 2


async def test_an_address_to_open_has_the_id_that_older_clients_ask_for() -> None:
    page = {"mode": "url", "message": "Sign in", "url": "https://example.com/x"}
    bare, named = (
        {"method": "elicitation/create", "params": params} for params in (page, {**page, "elicitationId": "e"})
    )
    client = Client({"elicitation": {"action": "accept"}}, capabilities={"elicitation": {"url": {}}})

    await answered(Upstream(interim("s-1", bare=bare, named=named), DONE), client)

    given, kept = (json.loads(question.params) for question in client.asked)
    assert given.pop("elicitationId")
    assert (given, kept["elicitationId"]) == (page, "e")


async def test_a_caller_that_takes_rounds_gets_the_interim_result_as_it_came() -> None:
    asked = interim("s-1", who=FORM)
    client = Client({}, takes_rounds=True)

    assert await answered(Upstream(asked), client) is asked
    assert client.asked == []


async def test_a_state_only_round_is_polled_until_there_is_a_result() -> None:
    upstream = Upstream(interim("a"), interim("b"), interim("c"), DONE)

    assert await answered(upstream, None) is DONE
    assert [call.round for call in upstream.calls] == [None, *(InputRound(None, state) for state in "abc")]


async def test_a_state_only_round_is_polled_until_the_call_has_no_time_left() -> None:
    upstream = Upstream(interim("still working"))

    with pytest.raises(CallTimeout, match="no result yet"):
        await answered(upstream, None, seconds=100)

    assert 90 < len(upstream.calls) < 120


async def test_a_server_may_not_ask_for_ever() -> None:
    upstream, client = Upstream(interim("s", who=FORM)), Client({"elicitation": {"action": "accept"}})

    with pytest.raises(ToolExecutionError, match=r"asked 3 times in one call .*questions.rounds"):
        await answered(upstream, client, rounds=3)

    assert len(client.asked) == 3


async def test_a_person_who_is_not_asked_after_all_declines_and_a_model_fails_the_call() -> None:
    upstream = Upstream(interim("s", who=FORM), DONE)
    await answered(upstream, Client({}))
    assert upstream.calls[1].round == InputRound(b'{"who":{"action":"decline"}}', "s")

    with pytest.raises(ToolExecutionError, match="not today"):
        await answered(Upstream(interim("s", thought=PROMPT)), Client({}))


@pytest.mark.parametrize("takes_rounds", [True, False])
async def test_a_question_that_the_client_can_not_answer_fails_the_call_before_anybody_is_asked(
    takes_rounds: bool,
) -> None:
    client = Client({}, capabilities={"elicitation": {}}, takes_rounds=takes_rounds)

    with pytest.raises(ClientCannotAnswer, match="asks the client's model") as failed:
        await answered(Upstream(interim("s", who=FORM, thought=PROMPT)), client)

    assert failed.value.needs == ("sampling",)
    assert client.asked == []


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "task", "taskId": "t-1"},
        {"resultType": "something"},
        {"resultType": "input_required"},
        {"resultType": "input_required", "requestState": 7},
        {"resultType": "input_required", "inputRequests": [1], "requestState": "s"},
        {"resultType": "input_required", "inputRequests": {"a": 1}},
        {"resultType": "input_required", "inputRequests": {"a": {"method": "tools/list"}}, "requestState": "s"},
        {"resultType": "input_required", "requestState": "x" * 70_000},
    ],
    ids=str,
)
async def test_anything_else_in_place_of_a_result_is_a_failure(result: dict[str, Any]) -> None:
    for client in (None, Client({}), Client({}, takes_rounds=True)):
        with pytest.raises(ToolcribError):
            await answered(Upstream(ToolResult.of(result)), client)


async def test_a_result_that_is_complete_passes_untouched() -> None:
    async def once(call: ToolCall) -> ToolResult:
        assert call.round is None
        return DONE

    assert await AnswerRounds(lambda: 1, lambda _: 1)(a_call(), call_next=once) is DONE


@pytest.mark.parametrize("first", [interim("s-1", who=FORM), interim("not yet")])
async def test_a_call_that_has_begun_is_not_made_anew_where_its_next_round_can_not_be_sent(first: ToolResult) -> None:
    upstream = Upstream(first, ServerConnectionError("gone", server="files", sent=False), DONE)
    client = Client({"elicitation": {"action": "accept"}})
    rounds = AnswerRounds(lambda: 10, lambda _: 300)

    async def with_rounds(call: ToolCall) -> ToolResult:
        return await rounds(call, call_next=upstream)

    with pytest.raises(ServerConnectionError) as failed:
        await Retry()(a_call(conversation=client), call_next=with_rounds)

    assert (failed.value.sent, len(upstream.calls)) == (True, 2)
    assert "Outcome unknown" in failed.value.hint
