from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.calls.clients import ACCEPTED, ADDRESS, ALL, FOLDERS, PROMPT, Client, Person, form
from tests.calls.steps import Upstream, a_call, through
from tests.fakes import INSTANT, text
from toolcrib.calls.guard_questions import MOST_AT_ONCE, MOST_QUESTION_BYTES, MOST_QUESTIONS, GuardQuestions
from toolcrib.calls.question_rules import QuestionRules
from toolcrib.errors import ClientCannotAnswer, ToolExecutionError
from toolcrib.model.asking import TASKS_EXTENSION, Question, QuestionRefused
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.server import Sampling


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


class Asking(Upstream):
    """A server that asks these questions, one after the other or at once, and keeps what it hears."""

    def __init__(self, *questions: Question, at_once: bool = False, fails: bool = False) -> None:
        super().__init__()
        self._questions = questions
        self._at_once = at_once
        self._fails = fails
        self.answers: list[bytes] = []
        self.refusals: list[QuestionRefused] = []

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        if self._at_once:
            await asyncio.gather(*(self._ask(call, question) for question in self._questions))
        else:
            for question in self._questions:
                await self._ask(call, question)
        return ToolResult.of({**text("could not go on"), "isError": self._fails})

    async def _ask(self, call: ToolCall, question: Question) -> None:
        assert call.conversation is not None
        try:
            self.answers.append(await call.conversation.ask(question))
        except QuestionRefused as refusal:
            self.refusals.append(refusal)


async def asked(server: Asking, client: Client | None, seconds: float = 600) -> ToolResult:
    guard = GuardQuestions(lambda _: QuestionRules("files", sampling="allow"), lambda: seconds)
    return await through(guard, a_call(conversation=client), server)


async def test_a_question_reaches_the_client_and_its_answer_the_server() -> None:
    server, client = Asking(form(), ADDRESS, PROMPT, FOLDERS), Client(ALL)

    await asked(server, client)

    assert server.answers == [ACCEPTED] * 4
    assert [question.method for question in client.asked] == [
        form().method,
        ADDRESS.method,
        PROMPT.method,
        FOLDERS.method,
    ]
    assert server.calls[0].conversation is not None
    assert server.calls[0].conversation.was_asked


@pytest.mark.parametrize(
    ("capabilities", "question", "is_asked"),
    [
        ({}, form(), False),
        ({"elicitation": {}}, form(), True),
        ({"elicitation": {"form": {}}}, form(), True),
        ({"elicitation": {"schemaValidation": True}}, form(), True),
        ({"elicitation": {"url": {}}}, form(), False),
        ({"elicitation": {}}, ADDRESS, False),
        ({"elicitation": {"form": {}}}, ADDRESS, False),
        ({"elicitation": {"url": {}}}, ADDRESS, True),
        ({"elicitation": True}, form(), False),
        ({"elicitation": {}}, PROMPT, False),
        ({"sampling": {}}, PROMPT, True),
        ({"roots": {"listChanged": True}}, FOLDERS, True),
    ],
)
async def test_a_client_is_asked_only_what_it_said_it_can_answer(
    capabilities: dict[str, Any], question: Question, is_asked: bool
) -> None:
    server, client = Asking(question), Client(capabilities)

    await asked(server, client)

    assert (len(client.asked), len(server.refusals)) == ((1, 0) if is_asked else (0, 1))


async def test_a_client_without_folders_has_none() -> None:
    for client in (Client({}), None):
        server = Asking(FOLDERS)
        await asked(server, client)
        assert server.answers == [b'{"roots":[]}']


async def test_a_tool_that_fails_for_want_of_an_answer_says_what_it_needs() -> None:
    with pytest.raises(ClientCannotAnswer, match="could not go on") as failed:
        await asked(Asking(form(), PROMPT, fails=True), Client({}))

    assert failed.value.needs == ("elicitation", "sampling")
    assert "your client can't be asked" in failed.value.hint


async def test_a_tool_that_does_without_an_answer_has_succeeded() -> None:
    assert not (await asked(Asking(form(), PROMPT), None)).is_error


async def test_a_failure_in_the_protocol_says_it_too() -> None:
    class Refusing(Asking):
        async def __call__(self, call: ToolCall) -> ToolResult:
            await super().__call__(call)
            raise ToolExecutionError("no", server="files", rpc_code=-32603)

    with pytest.raises(ToolExecutionError, match="no") as failed:
        await asked(Refusing(form()), Client({}))

    assert "asks the person something" in failed.value.hint


async def test_a_failure_that_no_question_explains_is_left_as_it_is() -> None:
    result = await asked(Asking(form(), fails=True), Client(ALL))

    assert result.is_error


async def test_a_person_who_does_not_answer_has_cancelled_and_a_model_has_failed() -> None:
    server = Asking(form(), PROMPT)

    await asked(server, Client(ALL, seconds=601))

    assert server.answers == [b'{"action":"cancel"}']
    assert [refusal.code for refusal in server.refusals] == [-32603]
    assert server.calls[0].conversation is not None
    assert not server.calls[0].conversation.was_asked


async def test_a_call_may_ask_only_so_often_so_much_at_once_and_so_long() -> None:
    often, client = Asking(*[form()] * (MOST_QUESTIONS + 3)), Client(ALL)
    await asked(often, client)
    assert (len(client.asked), len(often.refusals)) == (MOST_QUESTIONS, 3)

    many, client = Asking(*[form()] * (MOST_AT_ONCE + 2), at_once=True), Client(ALL, seconds=1)
    await asked(many, client)
    assert (len(client.asked), len(many.refusals)) == (MOST_AT_ONCE, 2)

    large, client = Asking(form("x" * MOST_QUESTION_BYTES)), Client(ALL)
    await asked(large, client)
    assert (len(client.asked), len(large.refusals)) == (0, 1)


# -- permission to use the model


def asking_first() -> GuardQuestions:
    return GuardQuestions(lambda _: QuestionRules("files"), lambda: 600)


@pytest.mark.parametrize(("allow", "permissions"), [("once", 4), ("in this session", 1)])
async def test_sampling_is_asked_about_first_unless_it_is_allowed(allow: str, permissions: int) -> None:
    guard, person = asking_first(), Person(allow)

    for _ in range(2):
        server = Asking(PROMPT, PROMPT)
        await through(guard, a_call(conversation=person), server)
        assert server.answers == [b'{"model":"m"}'] * 2

    kinds = [question.kind for question in person.asked]
    assert (kinds.count("elicitation"), kinds.count("sampling"), kinds[0]) == (permissions, 4, "elicitation")


async def test_a_person_who_says_no_keeps_the_model_from_the_server() -> None:
    person, server = Person(None), Asking(PROMPT)

    await through(asking_first(), a_call(conversation=person), server)

    assert [question.kind for question in person.asked] == ["elicitation"]
    assert [refusal.code for refusal in server.refusals] == [-1]


async def test_a_permission_of_one_session_is_not_one_of_another() -> None:
    guard = asking_first()

    for session in ("1", "2"):
        person = Person("in this session")
        await through(guard, a_call(conversation=person, caller=Caller("agent", session=session)), Asking(PROMPT))
        assert [question.kind for question in person.asked] == ["elicitation", "sampling"]


async def test_a_client_that_can_not_be_asked_for_permission_is_told_the_setting() -> None:
    with pytest.raises(ClientCannotAnswer) as failed:
        await through(asking_first(), a_call(conversation=Client({"sampling": {}})), Asking(PROMPT, fails=True))

    assert "do not allow that (sampling)" in failed.value.hint


def rounds(**questions: Question) -> ToolResult:
    asked = {key: {"method": one.method, "params": json.loads(one.params)} for key, one in questions.items()}
    return ToolResult.of({"resultType": "input_required", "requestState": "s", "inputRequests": asked})


async def test_questions_that_are_relayed_pass_the_same_checks() -> None:
    person = Person("once")
    person.takes_rounds = True

    result = await through(
        asking_first(), a_call(conversation=person), Upstream(rounds(who=form("Name?"), thought=PROMPT))
    )

    relayed = result.member("inputRequests")
    assert relayed["who"]["params"]["message"] == "files asks: Name?"
    assert relayed["thought"]["params"] == {"messages": []}
    assert result.member("requestState") == "s"
    assert [question.kind for question in person.asked] == ["elicitation"]


async def test_a_relayed_question_that_is_not_allowed_fails_the_call() -> None:
    person = Person(None)
    person.takes_rounds = True

    with pytest.raises(ToolExecutionError, match="did not allow"):
        await through(asking_first(), a_call(conversation=person), Upstream(rounds(thought=PROMPT)))


@pytest.mark.parametrize(
    ("capabilities", "takes_rounds", "sampling", "takes_tasks"),
    [
        ({"extensions": {TASKS_EXTENSION: {}}}, True, "ask", True),
        ({"extensions": {TASKS_EXTENSION: {}}}, False, "ask", False),
        ({"extensions": {}}, True, "ask", False),
        ({"extensions": {TASKS_EXTENSION: {}}, "sampling": {}, "elicitation": {}}, True, "ask", False),
        ({"extensions": {TASKS_EXTENSION: {}}, "sampling": {}, "elicitation": {}}, True, "allow", True),
        ({"extensions": {TASKS_EXTENSION: {}}, "sampling": {}, "elicitation": {}}, True, "deny", True),
    ],
)
async def test_a_client_gets_tasks_itself_unless_somebody_has_to_agree_to_what_they_ask(
    capabilities: dict[str, Any], takes_rounds: bool, sampling: Sampling, takes_tasks: bool
) -> None:
    client, server = Client(capabilities), Upstream()
    client.takes_rounds = takes_rounds
    guard = GuardQuestions(lambda _: QuestionRules("files", sampling), lambda: 60)
    await through(guard, a_call(conversation=client), server)

    [call] = server.calls
    assert call.conversation is not None
    assert call.conversation.takes_tasks is takes_tasks


# -- pages that an error has an older client open


def refusing(*pages: Any) -> Upstream:
    data = {"elicitations": list(pages), "more": 1}
    return Upstream(ToolExecutionError("sign in first", server="files", rpc_code=-32042, data=data))


async def told(server: Upstream, **rules: Any) -> ToolExecutionError:
    client = Client(ALL)
    client.knows_url_errors = True
    guard = GuardQuestions(lambda _: QuestionRules("files", **rules), lambda: 600)
    with pytest.raises(ToolExecutionError) as failed:
        await through(guard, a_call(conversation=client), server)
    return failed.value


PAGE = {"mode": "url", "url": "https://example.com/x", "elicitationId": "e", "message": "Sign in"}


async def test_a_page_that_an_error_names_is_shown_like_any_other() -> None:
    error = await told(refusing(PAGE))

    shown = {**PAGE, "message": "files asks you to open example.com: Sign in"}
    assert (error.rpc_code, error.details["data"]) == (-32042, {"elicitations": [shown], "more": 1})


@pytest.mark.parametrize(
    ("pages", "rules"),
    [
        ([PAGE, {**PAGE, "url": "javascript:alert(1)"}], {}),
        ([{**PAGE, "url": "https://github.com@evil.example/"}], {}),
        ([PAGE], {"elicitation": "deny"}),
        ([PAGE] * (MOST_QUESTIONS + 1), {}),
    ],
    ids=["a script", "a doubtful host", "a server that may not ask", "a flood"],
)
async def test_an_error_is_no_way_around_the_checks_of_questions(pages: list[Any], rules: dict[str, Any]) -> None:
    error = await told(refusing(*pages), **rules)

    assert "not passed on" in error.message
    assert (error.rpc_code, error.details.get("data")) == (0, None)
