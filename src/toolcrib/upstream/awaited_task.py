"""A server that works on a call as a task: asked how far it is, until there is a result.

In the handshake era (2025-11-25) a tool says that it runs as a task, and its result is fetched apart. In the modern one
(the extension `io.modelcontextprotocol/tasks`) the server decides, and the result comes with the last state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcrib.calls.answer_rounds import answers_to
from toolcrib.calls.interim_result import read_questions, unanswerable
from toolcrib.errors import ToolExecutionError
from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.model.asking import can_answer
from toolcrib.model.call import TASK, Progress, ToolCall, ToolResult
from toolcrib.model.clean_text import clean_words
from toolcrib.model.large_json import small_value
from toolcrib.model.reading import Era
from toolcrib.upstream.call_clock import CallClock
from toolcrib.wire.jsonrpc import Json, RpcError, rpc_error

USUAL_PAUSE_SECONDS = 1.0
SHORTEST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 30.0
MOST_ID_CHARACTERS = 1_024

_INPUT_REQUIRED = "input_required"
_ENDS = frozenset({"completed", "failed", "cancelled"})

Ask = Callable[[str, Mapping[str, Any]], Awaitable[Json]]
"""(method, parameters besides the id of the task)"""


_NOTHING = msgspec.Raw(b"null")
_MOST_WORD_BYTES = 64 * 1024


class _Told(msgspec.Struct, rename="camel"):
    """As much of a task as we look at, undecoded; the older era has other names for the pause."""

    task_id: msgspec.Raw = _NOTHING
    status: msgspec.Raw = _NOTHING
    status_message: msgspec.Raw = _NOTHING
    last_updated_at: msgspec.Raw = _NOTHING
    poll_interval: msgspec.Raw = _NOTHING
    poll_interval_ms: msgspec.Raw = _NOTHING


_told = msgspec.json.Decoder(_Told).decode


@dataclass(frozen=True, slots=True)
class TaskState:
    """What a server says of a task."""

    id: str
    status: str
    message: str
    changed: str
    pause_seconds: float
    raw: Json

    @property
    def words(self) -> str:
        return clean_words(self.message) or self.status.replace("_", " ")


def begun_task(result: ToolResult, era: Era) -> TaskState | None:
    """The task that a server has begun in place of an answer."""
    if not result.is_object:
        return None
    if era == "modern":
        return _state(result.raw) if result.is_task else None
    task = result.members.get(TASK)
    return None if task is None or "content" in result.members else _state(task)


def _state(raw: Json) -> TaskState | None:
    """None where it names no task that could be asked about."""
    try:
        told = _told(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    id, status, message, changed, *pauses = (
        small_value(text, _MOST_WORD_BYTES) for text in msgspec.structs.astuple(told)
    )
    if not isinstance(id, str) or not 0 < len(id) <= MOST_ID_CHARACTERS:
        return None
    pause = _pause(next((one for one in reversed(pauses) if one is not None), None))
    return TaskState(id, str(status), message if isinstance(message, str) else "", str(changed), pause, raw)


def _pause(milliseconds: object) -> float:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return USUAL_PAUSE_SECONDS
    return min(max(milliseconds / 1000, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


class AwaitedTask:
    """Follows one task for a call; each change that it hears of starts the time of the call anew."""

    def __init__(self, begun: TaskState, call: ToolCall, ask: Ask, clock: CallClock, *, era: Era) -> None:
        self._begun = begun
        self._call = call
        self._ask = ask
        self._clock = clock
        self._era = era
        self._seen: tuple[str, str, str] | None = None
        self._changes = 0
        self._answered: set[str] = set()
        self._final: asyncio.Task[Json] | None = None
        # Whether the server works on it no more.
        self.is_over = False

    async def result(self) -> ToolResult:
        """The tool's own result; raises RpcError for the error it ended with, and ToolExecutionError."""
        state = self._begun
        try:
            while state.status not in _ENDS:
                self._note(state)
                if state.status == _INPUT_REQUIRED:
                    await self._give_input(state)
                if await self._pause(state.pause_seconds):
                    break
                state = await self._look()
            self._note(state)
            self.is_over = True
            return await self._ended(state)
        finally:
            if self._final is not None:
                self._final.cancel()

    async def _look(self) -> TaskState:
        try:
            state = _state(await self._ask("tasks/get", {}))
        except RpcError as refusal:
            raise self._lost(refusal.message, rpc_code=refusal.code, data=refusal.data) from refusal
        if state is None or state.id != self._begun.id:
            raise self._lost("its answer can't be read")
        return state

    def _lost(self, why: str, **more: Any) -> ToolExecutionError:
        message = f"the server began a task, and can't say what became of it: {why}"
        return ToolExecutionError(message, server=self._call.server, hint=OUTCOME_UNKNOWN, **more)

    async def _pause(self, seconds: float) -> bool:
        """Wait before the next look; whether the result came meanwhile."""
        if self._final is None:
            await asyncio.sleep(seconds)
            return False
        await asyncio.wait({self._final}, timeout=seconds)
        return self._final.done()

    def _note(self, state: TaskState) -> None:
        seen = (state.status, state.message, state.changed)
        if seen == self._seen:
            return
        self._seen = seen
        self._changes += 1
        self._clock.renew()
        if self._call.wants_progress and self._call.listener is not None:
            self._call.listener(Progress({"progress": self._changes, "message": state.words}))

    async def _give_input(self, state: TaskState) -> None:
        if self._era == "modern":
            await self._answer(ToolResult(state.raw))
        elif self._final is None:
            # A server of this era asks while it is asked for the result.
            self._final = asyncio.ensure_future(self._result())
            self._final.add_done_callback(_mark_retrieved)

    async def _answer(self, state: ToolResult) -> None:
        """Answer what was not answered before; the same question stands there until the server has taken the answer."""
        asked = read_questions(state, self._call.server)
        questions = {key: one for key, one in asked.items() if key not in self._answered}
        if not questions:
            return
        client = self._call.conversation
        capabilities = {} if client is None else client.capabilities
        missing = {key: one for key, one in questions.items() if not can_answer(capabilities, one)}
        if missing:
            raise unanswerable(state, missing)
        with self._clock.standing():
            answers = await answers_to(client, questions)
        self._answered.update(questions)
        await self._ask("tasks/update", {"inputResponses": msgspec.Raw(answers)})

    async def _result(self) -> Json:
        return await self._ask("tasks/result", {})

    async def _ended(self, state: TaskState) -> ToolResult:
        if self._final is not None:
            return ToolResult(await self._final)
        if state.status == "cancelled":
            words = f": {clean_words(state.message)}" if state.message else ""
            raise ToolExecutionError(f"the server ended its task without a result{words}", server=self._call.server)
        if self._era != "modern":
            return ToolResult(await self._result())
        told = ToolResult(state.raw)
        if not told.is_object:
            raise self._lost("its answer can't be read")
        members = told.members
        if state.status == "failed":
            raise rpc_error(bytes(members.get("error", b"{}")))
        return ToolResult(members.get("result", b"null"))


def _mark_retrieved(final: asyncio.Future[Json]) -> None:
    if not final.cancelled():
        final.exception()
