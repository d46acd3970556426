"""A server that wants pages opened before it runs a tool (-32042): for clients that don't know this error, they are asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from toolcrib.calls.chain import CallTool
from toolcrib.errors import ToolExecutionError
from toolcrib.model.asking import (
    AN_ADDRESS,
    ELICITATION,
    Conversation,
    PassedOn,
    Question,
    QuestionRefused,
    accepts,
    can_answer,
    pages_in,
)
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.wire.protocol import ELICITATION_COMPLETE, URL_ELICITATION_REQUIRED

# Not every server says when it is done with a page, so the call is tried again now and then.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 8.0


class OpenAddresses:
    """Has the person open the pages, and calls again once the server is done with them; it refused the call before it ran."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        client = call.conversation
        if client is None or client.knows_url_errors or not can_answer(client.capabilities, AN_ADDRESS):
            return await call_next(call)
        hearing = _Hearing(client)
        call = call.but(conversation=hearing)
        try:
            return await call_next(call)
        except ToolExecutionError as refusal:
            pages = _pages(refusal)
            if not pages or not await _all_opened(client, pages, call.server):
                raise
        return await self._again(call, hearing, {str(page.get("elicitationId")) for page in pages}, call_next)

    async def _again(self, call: ToolCall, hearing: _Hearing, pages: set[str], call_next: CallTool) -> ToolResult:
        time = asyncio.get_running_loop().time
        until = time() + self._seconds()
        for pause in _pauses():
            is_done = await hearing.completed(pages, min(pause, max(until - time(), 0.0)))
            try:
                return await call_next(call)
            except ToolExecutionError as refusal:
                if is_done or not _pages(refusal) or time() >= until:
                    raise
        raise AssertionError  # pauses have no end


class _Hearing(PassedOn):
    """The client of a call; what it is told of finished pages is heard here too."""

    def __init__(self, client: Conversation) -> None:
        super().__init__(client)
        self._completed: set[str] = set()
        self._heard = asyncio.Event()

    def tell(self, method: str, params: bytes) -> None:
        if method == ELICITATION_COMPLETE:
            self._completed.add(str(msgspec.json.decode(params).get("elicitationId")))
            self._heard.set()
        super().tell(method, params)

    async def completed(self, pages: set[str], seconds: float) -> bool:
        """Whether the server is done with all of these pages, after waiting so long for it at most."""
        try:
            async with asyncio.timeout(seconds):
                while not pages <= self._completed:
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError:
            return False
        return True


def _pages(refusal: ToolExecutionError) -> Sequence[Mapping[str, Any]]:
    """What the person has to open first, as parameters of a question."""
    if refusal.rpc_code != URL_ELICITATION_REQUIRED:
        return ()
    return [{**page, "mode": "url"} for page in pages_in(refusal.details.get("data"))]


async def _all_opened(client: Conversation, pages: Sequence[Mapping[str, Any]], server: str) -> bool:
    """Whether the person opens each of the pages; they are asked one after the other."""
    for page in pages:
        try:
            answer = await client.ask(Question(server, ELICITATION, msgspec.json.encode(page)))
        except QuestionRefused:
            return False
        if not accepts(answer):
            return False
    return True


def _pauses() -> Iterator[float]:
    pause = FIRST_PAUSE_SECONDS
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
