"""Pages that a server wants opened before it runs a tool, for clients that don't know the error that says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.calls.steps import a_call
from tests.fakes import INSTANT
from toolcrib.calls.open_addresses import OpenAddresses
from toolcrib.errors import ToolExecutionError
from toolcrib.model.asking import Conversation, Question, QuestionRefused
from toolcrib.model.call import ToolCall, ToolResult

DONE = ToolResult(b'{"content":[]}')
SECONDS = 600


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


class Client(Conversation):
    def __init__(self, *actions: str, knows: bool = False, can: Any = None) -> None:
        self.capabilities = {"elicitation": {"url": {}} if can is None else can}
        self.knows_url_errors = knows
        self._actions = list(actions)
        self.asked: list[str] = []

    async def ask(self, question: Question) -> bytes:
        assert question.is_url
        self.asked.append(json.loads(question.params)["url"])
        action = self._actions.pop(0) if self._actions else "accept"
        if action == "refuse":
            raise QuestionRefused(-32602, "a doubtful address")
        return json.dumps({"action": action}).encode()


class Server:
    """Refuses calls until `is_open` says that it need not any more."""

    def __init__(self, is_open: Callable[[], bool], code: int = -32042, *pages: str) -> None:
        self._is_open = is_open
        self._code = code
        self._pages = pages or ("https://a.example", "https://b.example")
        self.calls: list[float] = []
        self.client: Conversation | None = None

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.client = call.conversation
        self.calls.append(asyncio.get_running_loop().time())
        if self._is_open():
            return DONE
        pages = [{"url": url, "elicitationId": url} for url in self._pages]
        raise ToolExecutionError("open these", server="files", rpc_code=self._code, data={"elicitations": pages})

    def complete(self, *pages: str) -> None:
        assert self.client is not None
        for page in pages or self._pages:
            self.client.tell("notifications/elicitation/complete", json.dumps({"elicitationId": page}).encode())


async def called(server: Server, client: Client) -> ToolResult:
    return await OpenAddresses(lambda: SECONDS)(a_call().but(conversation=client), call_next=server)


async def test_the_call_is_made_again_as_soon_as_the_server_is_done_with_all_pages() -> None:
    done: list[bool] = []
    server, client = Server(lambda: bool(done)), Client()

    def finish() -> None:
        done.append(True)
        server.complete()

    asyncio.get_running_loop().call_later(0.5, finish)
    assert await called(server, client) is DONE

    assert client.asked == ["https://a.example", "https://b.example"]
    assert server.calls[1] - server.calls[0] == pytest.approx(0.5, abs=0.1)


async def test_a_server_that_says_nothing_is_called_now_and_then() -> None:
    server, client = Server(lambda: len(server.calls) > 6), Client()
    assert await called(server, client) is DONE

    pauses = [round(later - earlier) for earlier, later in zip(server.calls, server.calls[1:], strict=False)]
    assert pauses == [1, 2, 4, 8, 8, 8]
    assert len(client.asked) == 2


async def test_what_nobody_opened_in_time_is_an_error() -> None:
    server, client = Server(lambda: False), Client()
    with pytest.raises(ToolExecutionError):
        await called(server, client)

    assert server.calls[-1] - server.calls[0] == pytest.approx(SECONDS, abs=1)


async def test_a_server_that_is_done_and_still_refuses_is_not_called_again_and_again() -> None:
    server, client = Server(lambda: False), Client()
    asyncio.get_running_loop().call_later(0.5, server.complete)
    with pytest.raises(ToolExecutionError):
        await called(server, client)

    assert len(server.calls) == 2


@pytest.mark.parametrize("action", ["decline", "cancel", "refuse"])
async def test_a_page_that_the_person_does_not_open_leaves_the_error_as_it_was(action: str) -> None:
    server, client = Server(lambda: False), Client(action)
    with pytest.raises(ToolExecutionError) as error:
        await called(server, client)

    assert (error.value.rpc_code, len(server.calls), len(client.asked)) == (-32042, 1, 1)


@pytest.mark.parametrize(
    ("code", "client"),
    [(-32042, Client(knows=True)), (-32042, Client(can={"form": {}})), (-32000, Client())],
    ids=["knows the error", "shows no addresses", "another error"],
)
async def test_in_any_other_case_nobody_is_asked(code: int, client: Client) -> None:
    with pytest.raises(ToolExecutionError):
        await called(Server(lambda: False, code), client)

    assert client.asked == []
