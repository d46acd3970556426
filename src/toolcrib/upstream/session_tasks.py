"""The tasks of one session: those that are awaited for a call, and those that clients ask about themselves."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import msgspec

from toolcrib.errors import AuthenticationFailed, CallTimeout, RateLimited, ServerConnectionError, ToolcribError
from toolcrib.limits.retry import RetryPolicy, retrying
from toolcrib.model.call import TaskRequest, ToolCall, ToolResult
from toolcrib.upstream.awaited_task import AwaitedTask, TaskState, begun_task
from toolcrib.upstream.call_clock import CallClock
from toolcrib.upstream.envelopes import RequestEnvelope
from toolcrib.upstream.inbox import Inbox, RunningRequest
from toolcrib.upstream.link import Link, SessionExpired
from toolcrib.wire.jsonrpc import Json, RpcError

log = logging.getLogger(__name__)

CANCEL_SECONDS = 5.0
# Asking how far a task is changes nothing, and the work of an hour should not be lost with one answer. Of the other requests,
# `tasks/result` may have the server ask the person something: nobody is asked the same twice.
LOOK_AGAIN = RetryPolicy()
NOT_AGAIN = RetryPolicy(max_retries=0)


class SessionTasks:
    """Asks a server about its tasks, on the connection on which it began them: another process would not know them."""

    def __init__(
        self, server: str, link: Link, inbox: Inbox, envelope: RequestEnvelope, next_id: Callable[[], int]
    ) -> None:
        self._server = server
        self._link = link
        self._inbox = inbox
        self._envelope = envelope
        self._next_id = next_id
        self._background: set[asyncio.Future[None]] = set()

    def begun(self, result: ToolResult, call: ToolCall) -> TaskState | None:
        """The task in place of a result that this call has to wait for; a client that takes tasks waits itself."""
        is_modern = self._envelope.era == "modern"
        is_relayed = is_modern and call.conversation is not None and call.conversation.takes_tasks
        return begun_task(result, self._envelope.era) if (is_modern or call.as_task) and not is_relayed else None

    async def awaited(self, task: TaskState, call: ToolCall, running: RunningRequest, clock: CallClock) -> ToolResult:
        """The result of a task; one that nobody waits for any more is cancelled on the server."""

        async def attempt(method: str, more: Mapping[str, Any]) -> Json:
            id = self._next_id()
            with self._inbox.following(id, running):
                return await self._request(id, method, call, {"taskId": task.id, **more})

        async def ask(method: str, more: Mapping[str, Any]) -> Json:
            policy = LOOK_AGAIN if method == "tasks/get" else NOT_AGAIN
            try:
                return await retrying(partial(attempt, method, more), policy, sleep=asyncio.sleep, random=random.random)
            except SessionExpired:
                raise self._lost("the server ended the session while it worked on this") from None
            except (ServerConnectionError, AuthenticationFailed, RateLimited) as trouble:
                raise self._lost(trouble.message, trouble.hint) from trouble

        awaited = AwaitedTask(task, call, ask, clock, era=self._envelope.era)
        try:
            return await awaited.result()
        finally:
            if not awaited.is_over:
                self._later(ask("tasks/cancel", {}))

    async def told(self, call: ToolCall, task: TaskRequest, timeout_seconds: float) -> ToolResult:
        """What the server says to a question of a client about a task; raises RpcError."""
        answers = {} if task.responses is None else {"inputResponses": msgspec.Raw(task.responses)}
        try:
            async with asyncio.timeout(timeout_seconds):
                params = {"taskId": task.id, **answers}
                return ToolResult(await self._request(self._next_id(), task.method, call, params))
        except TimeoutError:
            raise CallTimeout(f"no answer within {timeout_seconds:g} s", server=self._server) from None

    def _lost(self, why: str, hint: str = "") -> ServerConnectionError:
        """The call is not to be begun anew, whatever kept us from asking: the server may still work on it."""
        return ServerConnectionError(why, server=self._server, sent=True, hint=hint)

    async def _request(self, id: int, method: str, call: ToolCall, params: Mapping[str, Any]) -> Json:
        headers = self._envelope.headers(method, str(params["taskId"]))
        return await self._link.request(id, method, self._envelope.task_params(call, params), headers)

    def _later(self, work: Coroutine[Any, Any, Json]) -> None:
        """Have something done that nobody waits for."""

        async def quietly() -> None:
            try:
                async with asyncio.timeout(CANCEL_SECONDS):
                    await work
            except (ToolcribError, RpcError, TimeoutError) as trouble:
                log.debug("%s: a task could not be cancelled: %s", self._server, trouble)

        task = asyncio.ensure_future(quietly())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
