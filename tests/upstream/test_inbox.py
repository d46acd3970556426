from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import eventually
from toolcrib.model.asking import Conversation, Question, QuestionRefused
from toolcrib.model.call import CallEvent, Listener, LogMessage, Progress, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.upstream.household import Household
from toolcrib.upstream.inbox import GIVEN_UP_SECONDS, MOST_NOTIFICATION_BYTES, Inbox


def called(listener: Listener | None, *, by: str = "agent", level: str = "info", session: str = "") -> ToolCall:
    return ToolCall("files", "read", {}, b"{}", Caller(by, "stdio", by, session=session), listener, level)


class Heard:
    def __init__(self) -> None:
        self.changes = 0
        self.inbox = Inbox("files", self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def say(self, method: str, params: Any = None, request_id: int | None = None) -> None:
        self.inbox.receive(f"notifications/{method}", json.dumps(params or {}).encode(), request_id)


def test_progress_goes_to_the_call_that_has_its_token_without_the_token() -> None:
    heard, first, second = Heard(), list[CallEvent](), list[CallEvent]()

    with heard.inbox.listening(1, called(first.append)), heard.inbox.listening(2, called(second.append)):
        heard.say("progress", {"progressToken": 2, "progress": 0.5, "message": "half"})

    assert (first, second) == ([], [Progress({"progress": 0.5, "message": "half"})])


@pytest.mark.parametrize("token", [99, "1", None, [1], True])
def test_progress_with_a_token_of_nobody_is_dropped(token: Any) -> None:
    heard, events = Heard(), list[CallEvent]()

    with heard.inbox.listening(7, called(events.append)):
        heard.say("progress", {"progressToken": token, "progress": 1})

    assert events == []


@pytest.mark.parametrize("method", ["progress", "message"])
def test_a_notification_without_a_bottom_is_dropped_and_hurts_nobody(method: str) -> None:
    heard, events = Heard(), list[CallEvent]()
    deep = b"[" * 700 + b'"\\u202e"' + b"]" * 700
    said = b'{"progressToken":1,"progress":1,"level":"error","data":%b,"message":%b}' % (deep, deep)

    with heard.inbox.listening(1, called(events.append)):
        heard.inbox.receive(f"notifications/{method}", said, None)

    assert events == []


def test_a_notification_of_megabytes_is_dropped_without_a_look_at_it() -> None:
    heard, events = Heard(), list[CallEvent]()

    with heard.inbox.listening(1, called(events.append)):
        heard.say("progress", {"progressToken": 1, "progress": 1, "message": "x" * MOST_NOTIFICATION_BYTES})
        heard.say("message", {"level": "info", "data": "x" * MOST_NOTIFICATION_BYTES})
        heard.say("progress", {"progressToken": 1, "progress": 2})

    assert events == [Progress({"progress": 2})]


def test_progress_after_the_call_ended_is_dropped() -> None:
    heard, events = Heard(), list[CallEvent]()
    with heard.inbox.listening(1, called(events.append)):
        pass

    heard.say("progress", {"progressToken": 1, "progress": 1})

    assert events == []


def test_a_log_message_on_the_stream_of_a_call_is_that_calls() -> None:
    heard, first, second = Heard(), list[CallEvent](), list[CallEvent]()

    with heard.inbox.listening(1, called(first.append)), heard.inbox.listening(2, called(second.append)):
        heard.say("message", {"level": "info", "data": "yours"}, request_id=1)

    assert (first, second) == ([LogMessage({"level": "info", "data": "yours"})], [])


def test_a_log_message_of_nobody_goes_to_the_only_call_under_way() -> None:
    heard, events = Heard(), list[CallEvent]()

    with heard.inbox.listening(1, called(events.append)):
        heard.say("message", {"level": "info", "data": "hello"})

    assert events == [LogMessage({"level": "info", "data": "hello"})]


def test_with_two_calls_of_one_caller_under_way_a_log_message_is_heard_once() -> None:
    heard, first, second = Heard(), list[CallEvent](), list[CallEvent]()
    hello = LogMessage({"level": "info", "data": "hello"})

    with heard.inbox.listening(1, called(first.append)), heard.inbox.listening(2, called(second.append)):
        heard.say("message", {"level": "info", "data": "hello"})

    assert first + second == [hello]


def test_of_two_calls_of_one_caller_the_one_that_asked_for_more_hears_a_log_message() -> None:
    heard, first, second = Heard(), list[CallEvent](), list[CallEvent]()
    grave, chatty = called(first.append, level="error"), called(second.append, level="debug")

    with heard.inbox.listening(1, grave), heard.inbox.listening(2, chatty), heard.inbox.listening(3, called(None)):
        heard.say("message", {"level": "debug", "data": "detail"})

    assert (first, second) == ([], [LogMessage({"level": "debug", "data": "detail"})])


def test_with_calls_of_two_callers_under_way_a_log_message_of_nobody_reaches_neither() -> None:
    heard, events = Heard(), list[CallEvent]()

    mine, theirs = called(events.append, by="me"), called(events.append, by="them")
    with heard.inbox.listening(1, mine), heard.inbox.listening(2, theirs):
        heard.say("message", {"level": "info", "data": "whose?"})

    assert events == []


def test_two_sessions_of_one_client_are_two_callers() -> None:
    heard, events = Heard(), list[CallEvent]()

    first, second = called(events.append, session="1"), called(events.append, session="2")
    with heard.inbox.listening(1, first), heard.inbox.listening(2, second):
        heard.say("message", {"level": "info", "data": "whose?"})

    assert events == []


@pytest.mark.parametrize("request_id", [1, None])
def test_a_log_message_below_the_level_that_a_call_asked_for_is_not_for_it(request_id: int | None) -> None:
    heard, events = Heard(), list[CallEvent]()

    with heard.inbox.listening(1, called(events.append, level="warning")):
        for level in ("debug", "notice", "warning", "error", "loud"):
            heard.say("message", {"level": level}, request_id)

    assert events == [LogMessage({"level": level}) for level in ("warning", "error", "loud")]


async def test_while_a_server_may_work_on_for_a_call_that_was_given_up_its_words_reach_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard, events = Heard(), list[CallEvent]()
    with pytest.raises(asyncio.CancelledError), heard.inbox.listening(1, called(events.append, by="me")):
        raise asyncio.CancelledError

    with heard.inbox.listening(2, called(events.append, by="them")):
        heard.say("message", {"level": "info", "data": "mine"})
        assert events == []
        loop = asyncio.get_running_loop()
        now = loop.time()
        monkeypatch.setattr(loop, "time", lambda: now + GIVEN_UP_SECONDS)
        heard.say("message", {"level": "info", "data": "theirs"})

    assert events == [LogMessage({"level": "info", "data": "theirs"})]


def test_a_changed_tool_list_is_told_each_time() -> None:
    heard = Heard()

    heard.say("tools/list_changed")
    heard.say("tools/list_changed")

    assert heard.changes == 2


def test_other_notifications_are_passed_over() -> None:
    heard, events = Heard(), list[CallEvent]()

    with heard.inbox.listening(1, called(events.append)):
        heard.say("resources/updated", {"uri": "file:///x"})
        heard.say("cancelled", {"requestId": 1})

    assert (events, heard.changes) == ([], 0)


@pytest.mark.parametrize("params", [b"", b"[]", b'"x"', b"7", b"{", b'{"data":"\\ud800"}', b"[" * 100_000])
@pytest.mark.parametrize("method", ["progress", "message", "tools/list_changed"])
def test_odd_parameters_do_no_harm(method: str, params: bytes) -> None:
    heard, events = Heard(), list[CallEvent]()

    with heard.inbox.listening(1, called(events.append)):
        heard.inbox.receive(f"notifications/{method}", params, None)
        heard.say("progress", {"progressToken": 1, "progress": 1})

    assert events[-1] == Progress({"progress": 1})


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), max_size=20))
def test_every_call_hears_all_of_its_own_progress_in_order_and_nothing_else(said: list[tuple[int, int]]) -> None:
    heard = Heard()
    events: dict[int, list[CallEvent]] = {1: [], 2: [], 3: []}

    with (
        heard.inbox.listening(1, called(events[1].append)),
        heard.inbox.listening(2, called(events[2].append)),
        heard.inbox.listening(3, called(events[3].append)),
    ):
        for token, progress in said:
            heard.say("progress", {"progressToken": token, "progress": progress})

    for number, mine in events.items():
        assert mine == [Progress({"progress": progress}) for token, progress in said if token == number]


# -- questions


class Client(Conversation):
    """Answers every question with its name, once it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.capabilities = {}
        self.asked: list[Question] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.was_cancelled = False

    async def ask(self, question: Question) -> bytes:
        self.asked.append(question)
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return json.dumps(self.name).encode()


def calling(client: Client, *, session: str = "") -> ToolCall:
    return called(None, by=client.name, session=session).but(conversation=client)


async def test_a_question_on_the_stream_of_a_call_reaches_its_client() -> None:
    heard, ann, bob = Heard(), Client("ann"), Client("bob")

    with heard.inbox.listening(1, calling(ann)), heard.inbox.listening(2, calling(bob)):
        answer = await heard.inbox.asked("elicitation/create", b'{"message":"?"}', 2)

    assert (answer, ann.asked) == (b'"bob"', [])
    assert bob.asked == [Question("files", "elicitation/create", b'{"message":"?"}')]


async def test_a_question_on_no_stream_reaches_the_only_client_at_work() -> None:
    heard, ann = Heard(), Client("ann")

    with heard.inbox.listening(1, calling(ann, session="s")), heard.inbox.listening(2, calling(ann, session="s")):
        assert await heard.inbox.asked("elicitation/create", b"{}", None) == b'"ann"'


async def test_a_server_that_clients_share_keeps_the_folders_of_none() -> None:
    ann, shared, own = Client("ann"), Heard().inbox, Inbox("files", lambda: None, household=Household())

    for inbox, answer in ((shared, b'{"roots":[]}'), (own, b'"ann"')):
        with inbox.listening(1, calling(ann, session="s")):
            assert await inbox.asked("roots/list", b"{}", None) == answer
            # In the middle of a call, on its own stream, they are for that call.
            assert await inbox.asked("roots/list", b"{}", 1) == b'"ann"'


@pytest.mark.parametrize(
    "callers",
    [
        [("ann", "s1"), ("bob", "s2")],
        [("ann", "s1"), ("ann", "s2")],
        [("ann", ""), ("ann", "")],  # two clients may have one name, and no session tells them apart
        [],
    ],
)
async def test_a_question_that_could_be_anybodys_reaches_nobody(callers: list[tuple[str, str]]) -> None:
    heard = Heard()
    clients = [(Client(name), session) for name, session in callers]

    with ExitStack() as calls:
        for id, (client, session) in enumerate(clients):
            calls.enter_context(heard.inbox.listening(id, calling(client, session=session)))
        with pytest.raises(QuestionRefused, match="nobody was asked"):
            await heard.inbox.asked("elicitation/create", b"{}", None)
        assert await heard.inbox.asked("roots/list", b"{}", None) == b'{"roots":[]}'

    assert not any(client.asked for client, _ in clients)


async def test_a_question_after_a_call_was_given_up_is_not_put_to_somebody_else() -> None:
    heard, ann, bob = Heard(), Client("ann"), Client("bob")
    with pytest.raises(asyncio.CancelledError), heard.inbox.listening(1, calling(ann, session="s1")):
        raise asyncio.CancelledError

    with heard.inbox.listening(2, calling(bob, session="s2")), pytest.raises(QuestionRefused):
        await heard.inbox.asked("elicitation/create", b"{}", None)

    assert bob.asked == []


async def test_a_question_ends_with_its_call() -> None:
    heard, ann = Heard(), Client("ann")
    ann.may_answer.clear()

    with heard.inbox.listening(1, calling(ann)):
        asking = asyncio.create_task(heard.inbox.asked("elicitation/create", b"{}", 1))
        await eventually(lambda: ann.asked)
    await asyncio.wait({asking}, timeout=5)

    assert (asking.cancelled(), ann.was_cancelled) == (True, True)


@pytest.mark.parametrize("method", ["tools/list", "completion/complete", ""])
async def test_what_no_client_is_asked_is_refused(method: str) -> None:
    heard, ann = Heard(), Client("ann")

    with heard.inbox.listening(1, calling(ann)), pytest.raises(QuestionRefused) as refused:
        await heard.inbox.asked(method, b"{}", 1)

    assert (refused.value.code, ann.asked) == (-32601, [])
