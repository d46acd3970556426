"""Calls that run while their client is away to find the answers to a question.

A client of the newest revision can't be asked: it is told what is to be answered, and calls again with the answers. The call
itself goes on meanwhile, so a server of the handshake era notices nothing of it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from toolcrib.limits.room import Room
from toolcrib.model.asking import Conversation, Question, QuestionRefused
from toolcrib.model.call import CallEvent, Listener
from toolcrib.server.results import Members
from toolcrib.wire.jsonrpc import INTERNAL_ERROR

MOST_PER_CALLER = 8
# What is said while nobody listens, and is told when the client is back.
MOST_KEPT_EVENTS = 100
# A client that has let a question pass may still come back for the result, for so long; progress would keep the call for ever.
ALONE_SECONDS = 600.0

Who = tuple[str, str]
"""(key and session of a caller)"""
Work = Callable[["AwayConversation", Listener], Awaitable[Members]]
_raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class AwayConversation(Conversation):
    """A client that takes input rounds. What it is asked waits until it comes for it."""

    takes_rounds = True

    def __init__(self, capabilities: Mapping[str, Any], may_wait: Callable[[AwayConversation], bool]) -> None:
        self.capabilities = capabilities
        self._may_wait = may_wait
        self._open: dict[str, tuple[Question, asyncio.Future[bytes]]] = {}
        self._number = 0
        self.asks = asyncio.Event()
        # Called when the client is away, and nothing is left that it could answer.
        self.when_alone: Callable[[], None] = lambda: None

    @property
    def is_alone(self) -> bool:
        return self.is_away and not self.asked

    @property
    def asked(self) -> Mapping[str, Question]:
        """The questions that have no answer yet."""
        return {key: question for key, (question, answer) in self._open.items() if not answer.done()}

    async def ask(self, question: Question) -> bytes:
        if not self._may_wait(self):
            raise QuestionRefused(INTERNAL_ERROR, "too many calls wait for answers already")
        self._number += 1
        key, answer = f"q{self._number}", asyncio.get_running_loop().create_future()
        self._open[key] = (question, answer)
        self.asks.set()
        try:
            return bytes(await answer)
        finally:
            del self._open[key]
            if self.is_alone:
                self.when_alone()

    def take(self, answers: Mapping[str, msgspec.Raw]) -> None:
        """Answer what is open; anything else in there is passed over."""
        for key, given in answers.items():
            _, answer = self._open.get(key, (None, None))
            if answer is not None and not answer.done() and bytes(given).lstrip().startswith(b"{"):
                answer.set_result(bytes(given))


class _Call:
    """A call in a task of its own, and whoever hears of it now."""

    def __init__(self, caller: Who, client: AwayConversation, work: Work) -> None:
        self.caller = caller
        self.client = client
        self._listener: Listener | None = None
        self._kept: deque[CallEvent] = deque(maxlen=MOST_KEPT_EVENTS)
        self.task = asyncio.ensure_future(work(client, self._hear))

    def _hear(self, event: CallEvent) -> None:
        if self._listener is None:
            self._kept.append(event)
        else:
            self._listener(event)

    @contextmanager
    def heard_by(self, listener: Listener | None) -> Any:
        """Tell what happened meanwhile, and then what happens."""
        self._listener = listener
        while self._kept and listener is not None:
            listener(self._kept.popleft())
        try:
            yield
        finally:
            self._listener = None


class ParkedCalls:
    """Runs calls of clients that take input rounds, each for as many requests as it takes."""

    def __init__(self, room: Room) -> None:
        # What the calls of all clients of the engine share.
        self._room = room
        self._parked: dict[str, _Call] = {}
        # Whose calls wait or are about to: many may ask before the first of them is parked.
        self._places: dict[AwayConversation, Who] = {}

    def client(self, caller: Who, capabilities: Mapping[str, Any]) -> AwayConversation:
        """A conversation for one call of this caller."""
        return AwayConversation(capabilities, lambda client: self._has_place(client, caller))

    async def run(self, caller: Who, client: AwayConversation, work: Work, listener: Listener | None) -> Members | str:
        """The answer of a call, or the handle under which it waits for its client."""
        call = _Call(caller, client, work)
        call.task.add_done_callback(lambda _: self._give_place_up(client))
        client.when_alone = lambda: _end_later(call)
        return await self._follow(call, listener)

    async def go_on(self, handle: str | None, answers: bytes | None, listener: Listener | None) -> Members | str | None:
        """The same of a call that waits; None where there is none of this handle."""
        call = self._left(handle or "")
        if call is None:
            return None
        call.client.is_away = False
        call.client.take(_members_of(answers))
        return await self._follow(call, listener)

    def __len__(self) -> int:
        return len(self._parked)

    def questions(self, handle: str) -> Mapping[str, Question]:
        return self._parked[handle].client.asked

    async def close(self) -> None:
        """End all that wait: their clients don't come back."""
        waiting = [call for handle in list(self._parked) if (call := self._left(handle)) is not None]
        for call in waiting:
            call.task.cancel()
        await asyncio.gather(*(call.task for call in waiting), return_exceptions=True)

    async def _follow(self, call: _Call, listener: Listener | None) -> Members | str:
        """Wait until the call ends or asks; if the client gives its request up, the call is given up."""
        try:
            with call.heard_by(listener):
                await _ended_or_asks(call)
        except asyncio.CancelledError:
            call.task.cancel()
            raise
        return call.task.result() if call.task.done() else self._park(call)

    def _park(self, call: _Call) -> str:
        handle = secrets.token_urlsafe(16)
        self._parked[handle] = call
        self._take_place(call.client, call.caller)
        call.client.is_away = True
        call.task.add_done_callback(lambda task: self._ended(handle, task))
        return handle

    def _ended(self, handle: str, task: asyncio.Future[Members]) -> None:
        if self._left(handle) is not None and not task.cancelled():
            task.exception()  # nobody is there to hear of it

    def _left(self, handle: str) -> _Call | None:
        """The call of this handle, which waits here no more."""
        call = self._parked.pop(handle, None)
        if call is not None:
            self._give_place_up(call.client)
        return call

    def _has_place(self, client: AwayConversation, caller: Who) -> bool:
        """Whether a call that asks may wait; its place is taken from now on."""
        own = sum(other == caller for other in self._places.values())
        if client not in self._places and (own >= MOST_PER_CALLER or not self._room.is_left):
            return False
        self._take_place(client, caller)
        return True

    def _take_place(self, client: AwayConversation, caller: Who) -> None:
        if client not in self._places:
            self._places[client] = caller
            self._room.enter()

    def _give_place_up(self, client: AwayConversation) -> None:
        if self._places.pop(client, None) is not None:
            self._room.leave()


def _end_later(call: _Call) -> None:
    def end() -> None:
        if call.client.is_alone:
            call.task.cancel()

    asyncio.get_running_loop().call_later(ALONE_SECONDS, end)


async def _ended_or_asks(call: _Call) -> None:
    while not call.task.done() and not call.client.asked:
        call.client.asks.clear()
        asks = asyncio.ensure_future(call.client.asks.wait())
        try:
            await asyncio.wait({call.task, asks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asks.cancel()


def _members_of(answers: bytes | None) -> Mapping[str, msgspec.Raw]:
    try:
        return {} if answers is None else _raw_members(answers)
    except (msgspec.DecodeError, RecursionError):
        return {}
