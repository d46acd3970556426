"""Where what a server says by itself goes: to the call it belongs to, or to the catalog."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import msgspec

from toolcrib.model.asking import ELICITATION, KIND_OF, Conversation, Question, QuestionKind, QuestionRefused
from toolcrib.model.call import Listener, LogMessage, Progress, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.model.clean_text import cleaned
from toolcrib.model.nesting import deeper_than
from toolcrib.upstream.call_clock import CallClock
from toolcrib.upstream.household import NO_FOLDERS, ROOTS_LIST, Household
from toolcrib.upstream.open_pages import OpenPages
from toolcrib.upstream.pacing import LatestOnly, Pace
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND
from toolcrib.wire.protocol import ELICITATION_COMPLETE, LOG_LEVELS

log = logging.getLogger(__name__)

# What nobody asked for must not hold everybody up: decoding a megabyte may take a hundredth of a second.
MOST_NOTIFICATION_BYTES = 1024 * 1024
# A server may work on for a call that was given up, and go on telling about it.
GIVEN_UP_SECONDS = 30.0
MOST_NESTED = 200

_LISTS_CHANGED = frozenset(f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources"))
NOBODY = "nobody was asked: several clients use this server now, or the one that does can't be asked"

WhoAsks = tuple[str, str]


class Inbox:
    """Routes progress by token, log messages and questions by stream; a changed list wakes `on_tools_changed`.

    `on_updated` hears of resources that have changed.

    `on_asked` hears of each question that came on no stream of a call. On a connection with a `household`, which is there for
    one client, that client may also be asked for its folders, which a server keeps for whoever comes next; and what belongs to
    no call.
    """

    def __init__(
        self,
        server: str,
        on_tools_changed: Callable[[], None],
        on_asked: Callable[[QuestionKind], None] = lambda _: None,
        household: Household | None = None,
        *,
        on_updated: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._server = server
        self._on_updated = on_updated
        self._on_tools_changed = on_tools_changed
        self._on_asked = on_asked
        self._household = household
        self._running: dict[int, RunningRequest] = {}
        self._given_up: dict[WhoAsks, float] = {}
        self.pages = OpenPages()
        self._log_pace: Pace | None = None
        self._unheard_logs = 0

    @contextmanager
    def listening(self, request_id: int, call: ToolCall, clock: CallClock | None = None) -> Iterator[RunningRequest]:
        """Deliver what belongs to this request to the call's listener and its client, while it runs."""
        running = self._running[request_id] = RunningRequest(call, clock)
        try:
            yield running
        except asyncio.CancelledError:
            self._given_up[_who(call.caller)] = asyncio.get_running_loop().time() + GIVEN_UP_SECONDS
            running.give_up()
            raise
        finally:
            self._running.pop(request_id, None)
            if self._unheard_logs and call.listener is not None and call.log_level is not None:
                self._tell_unheard(call.listener)
            running.end()

    @contextmanager
    def following(self, request_id: int, running: RunningRequest) -> Iterator[None]:
        """The same for one more request that is made for a call under way."""
        self._running[request_id] = running
        try:
            yield
        finally:
            self._running.pop(request_id, None)

    @property
    def lowest_level(self) -> str | None:
        """The least grave log messages that any call under way asks for: one level holds for all calls on a stream."""
        asked = [call for call in self._calls() if call.log_level in LOG_LEVELS]
        return min(asked, key=_least_grave).log_level if asked else None

    async def asked(self, method: str, params: bytes, request_id: int | None) -> bytes:
        """The answer to a request of the server, from the client whose call it is about; raises QuestionRefused."""
        if method == "ping":
            return b"{}"
        if method not in KIND_OF:
            raise QuestionRefused(METHOD_NOT_FOUND, f"{method} is not supported by this client")
        if request_id is None:
            self._on_asked(KIND_OF[method])
            if method == ROOTS_LIST and self._household is None:
                return NO_FOLDERS
        running = self._owner(request_id)
        client = self._member(method) if running is None else running.call.conversation
        if client is None:
            return self._nobodys_answer(method)
        if method == ELICITATION:
            self.pages.note_question(params, client)
        if running is not None:
            answer = await running.ask(client, method, params)
        else:
            answer = await client.ask(Question(self._server, method, params))
        if method == ROOTS_LIST and self._household is not None:
            self._household.folders = answer
        return answer

    def receive(self, method: str, params: bytes, request_id: int | None) -> None:
        if len(params) > MOST_NOTIFICATION_BYTES:
            log.debug("%s: a notification of %d bytes was dropped", self._server, len(params))
        elif method in _LISTS_CHANGED:
            self._on_tools_changed()
        elif method == ELICITATION_COMPLETE:
            self.pages.complete(params)
        elif method == "notifications/resources/updated":
            self._on_updated(str(_object(params).get("uri", "")))
        elif method == "notifications/progress":
            self._progress(_object(params))
        elif method == "notifications/message":
            self._message(_object(params), request_id)

    def _member(self, method: str) -> Conversation | None:
        """Whom a question goes to that belongs to no call."""
        return None if self._household is None or self._running else self._household.asked(method)

    def _nobodys_answer(self, method: str) -> bytes:
        """What a server hears where nobody can be asked: the folders that are known, and anything else is refused."""
        if method == ROOTS_LIST:
            return NO_FOLDERS if self._household is None else self._household.folders
        raise QuestionRefused(INTERNAL_ERROR, NOBODY)

    def _progress(self, params: dict[str, Any]) -> None:
        token = params.pop("progressToken", None)
        running = self._running.get(token) if isinstance(token, int) else None
        if running is not None:
            running.progress(cleaned(params))

    def _message(self, params: dict[str, Any], request_id: int | None) -> None:
        if not params:
            return
        call = self._common_call() if request_id is None else self._call(request_id)
        if call is not None and call.listener is not None and _asks_for(call, params.get("level")):
            self._pass_on(call.listener, params)
        else:
            log.debug("%s: %s", self._server, params.get("data"))

    def _pass_on(self, listener: Listener, params: dict[str, Any]) -> None:
        if self._log_pace is None:
            self._log_pace = Pace()
        if not self._log_pace.has_turn():
            self._unheard_logs += 1
            return
        if self._unheard_logs:
            self._tell_unheard(listener)
        listener(LogMessage(cleaned(params)))

    def _tell_unheard(self, listener: Listener) -> None:
        count, self._unheard_logs = self._unheard_logs, 0
        words = f"{count} log messages of {self._server} were left out: it sends too many"
        listener(LogMessage({"level": "warning", "logger": "toolcrib", "data": words}))

    def _call(self, request_id: int) -> ToolCall | None:
        running = self._running.get(request_id)
        return None if running is None else running.call

    def _calls(self) -> list[ToolCall]:
        return [running.call for running in self._running.values()]

    def _owner(self, request_id: int | None) -> RunningRequest | None:
        """Whose question it is: that of the call on whose stream it came. Elsewhere it is known only where all work is one's.

        Callers without a session may be several clients, so of those a second call is one too many.
        """
        if request_id is not None:
            return self._running.get(request_id)
        at_work = self._at_work()
        if len(at_work) != 1 or not self._running:
            return None
        (_, session), *_ = at_work
        is_one = bool(session) or len(set(self._running.values())) + len(self._given_up) == 1
        return next(iter(self._running.values())) if is_one else None

    def _common_call(self) -> ToolCall | None:
        """Who hears a log message on a shared stream, which does not say whose it is.

        Where all work under way is one caller's, the call that asked for the most, so that it is heard once. Where
        it is not, nobody: it could show one caller's data to another.
        """
        if len(self._at_work()) != 1:
            return None
        asking = [call for call in self._calls() if call.listener is not None and call.log_level in LOG_LEVELS]
        return min(asking, key=_least_grave) if asking else None

    def _at_work(self) -> set[WhoAsks]:
        """For whom the server may be doing something: calls under way, and calls that were given up a moment ago."""
        if self._given_up:
            now = asyncio.get_running_loop().time()
            self._given_up = {who: until for who, until in self._given_up.items() if until > now}
        return {*self._given_up, *(_who(call.caller) for call in self._calls())}


class RunningRequest:
    """A call under way, and the questions that the server asks for it."""

    def __init__(self, call: ToolCall, clock: CallClock | None) -> None:
        self.call = call
        self._clock = clock
        self._questions: set[asyncio.Task[Any]] = set()
        self._latest: LatestOnly[Progress] | None = None

    def progress(self, params: dict[str, Any]) -> None:
        if self._clock is not None:
            self._clock.renew()
        if self.call.listener is None:
            return
        if self._latest is None:
            self._latest = LatestOnly(self.call.listener)
        self._latest.tell(None, Progress(params))

    async def ask(self, client: Conversation, method: str, params: bytes) -> bytes:
        """Ask the client of the call, whose time stands meanwhile; the end of the call is the end of the question."""
        task = asyncio.current_task()
        assert task is not None
        self._questions.add(task)
        try:
            with nullcontext() if self._clock is None else self._clock.standing():
                return await client.ask(Question(self.call.server, method, params))
        finally:
            self._questions.discard(task)

    def give_up(self) -> None:
        """Whoever called wants to hear no more."""
        if self._latest is not None:
            self._latest.stop()
            self._latest = None

    def end(self) -> None:
        if self._latest is not None:
            self._latest.finish()
        if self._clock is not None:
            self._clock.end()
        for task in self._questions:
            task.cancel()


def _who(caller: Caller) -> WhoAsks:
    return caller.key, caller.session


def _asks_for(call: ToolCall, level: object) -> bool:
    """Whether a call asked for messages of this level, whatever others made the server tell; an unknown level passes."""
    if level not in LOG_LEVELS or call.log_level not in LOG_LEVELS:
        return True
    return LOG_LEVELS.index(str(level)) >= LOG_LEVELS.index(str(call.log_level))


def _least_grave(call: ToolCall) -> int:
    return LOG_LEVELS.index(call.log_level or LOG_LEVELS[-1])


def _object(params: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(params)
    except (msgspec.DecodeError, RecursionError):
        return {}
    # Deeper ones can't be cleaned, and no client could read them.
    return value if isinstance(value, dict) and not deeper_than(value, MOST_NESTED) else {}
