"""Calls on stdio: one task and one write each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import msgspec

from toolcrib.errors import OutcomeUnknown
from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.model.call import CallEvent, ExecutionError, Listener, LogMessage
from toolcrib.model.caller import EVERYTHING, Caller, Rights
from toolcrib.queries.json_forms import failure_json
from toolcrib.server import render
from toolcrib.server.client_requests import ClientRequests, StdioConversation
from toolcrib.server.events import passes, wanted_level
from toolcrib.server.identity import stamped
from toolcrib.server.input_rounds import ModernClient
from toolcrib.server.listening_clients import SUBSCRIBE, UNSUBSCRIBE
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol_eras import CALL, ProtocolEra
from toolcrib.server.relayed_tasks import TaskQuestion
from toolcrib.server.request_params import RequestParams
from toolcrib.server.requests import Request
from toolcrib.server.results import Members
from toolcrib.server.session_journal import Journal
from toolcrib.server.stdio_listening import StdioListening
from toolcrib.wire import jsonrpc
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, Json, RequestId, RpcError

_encode = msgspec.json.Encoder().encode
_LOST = failure_json(
    ExecutionError.of(OutcomeUnknown("the gateway was ended while this ran", hint=OUTCOME_UNKNOWN), "", "")
)


class WriteLine(Protocol):
    """Writes one line to the client, given in pieces."""

    def __call__(self, *parts: Json) -> None: ...


class StdioCalls:
    """Runs calls of one stdio connection, each in its own task, and answers each exactly once unless cancelled."""

    def __init__(
        self,
        meta_tools: MetaTools,
        write: WriteLine,
        journal: Journal,
        *,
        session: str,
        rights: Callable[[], Rights] = lambda: EVERYTHING,
    ) -> None:
        self._meta_tools = meta_tools
        self._write = write
        self._journal = journal
        self.requests = ClientRequests(self._tell_line)
        self.listening = StdioListening(meta_tools.native, self._tell)
        self.session = session
        # Asked at each call: an edit of the configuration may have changed them.
        self._rights = rights
        self._tasks: set[asyncio.Task[None]] = set()
        # The latest call with each id: a client may use one twice, though it should not.
        self._by_id: dict[RequestId, asyncio.Task[None]] = {}

    def start(self, id: RequestId, method: str, params: RequestParams, era: ProtocolEra) -> None:
        """Start a request that the era of the connection admits and that takes time; raises RpcError for a call without a tool."""
        if method == CALL and not isinstance(params.name, str):
            raise RpcError(INVALID_PARAMS, "tools/call: name must be a string")
        work = self._run(id, method, params, self.request(params, era))
        self._start(id, "" if method == CALL else method, work)

    def start_about_task(self, id: RequestId, method: str, params: RequestParams, era: ProtocolEra) -> None:
        """Start a request about a task, which is answered like a call."""
        question = TaskQuestion(method, params.task_id, params.responses_json)
        caller = self._caller(era.client_of(params.meta_object))
        ask = partial(self._meta_tools.task, question, caller, era.capabilities_of(params.meta_object))
        self._start(id, method, self._answer(id, ask, modern=True))

    def _start(self, id: RequestId, method: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        self._by_id[id] = task
        self._journal.started(id, method)
        task.add_done_callback(lambda _: self._forget(id, task))

    def request(self, params: RequestParams, era: ProtocolEra) -> Request:
        """Who asks with these parameters, and how they are reached meanwhile."""
        meta, modern = params.meta_object, era.era == "modern"
        level = wanted_level(meta, era.log_level, modern=modern)
        listener = self._listener(meta.get("progressToken"), level)
        request = Request(self._caller(era.client_of(meta)), listener, level, meta, rights_now=self._rights)
        if modern:
            client = ModernClient(era.capabilities_of(meta), params.responses_json, params.request_state)
            return replace(request, modern=client)
        return replace(request, conversation=StdioConversation(self.requests, era.capabilities_of(meta)))

    def give_up(self, id: RequestId, era: ProtocolEra | None, method: str = "") -> None:
        """Answer a call, or another request, that ran in an engine that is gone."""
        if method:
            self._write(jsonrpc.error_response(id, INTERNAL_ERROR, f"the gateway was ended during {method}: ask again"))
            self._journal.ended(id)
            return
        members = render.text_result(_LOST, is_error=True)
        is_modern = era is not None and era.era == "modern"
        self._write(*jsonrpc.response_parts(id, stamped(members) if is_modern else members))
        self._journal.ended(id)

    def cancel(self, request_id: object) -> None:
        """Cancel a running call; a cancelled call is never answered."""
        if self.listening.cancel(request_id):
            return
        task = self._by_id.get(request_id) if isinstance(request_id, int | str) else None
        if task is not None:
            task.cancel()

    def roots_changed(self) -> None:
        """Pass on that the client's folders are others by now; nothing is answered."""
        task = asyncio.create_task(self._meta_tools.roots_changed(self.session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float) -> None:
        """Let running calls end, but no longer than so many seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def cancel_all(self) -> None:
        left = set(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.listening.close()
        await self._meta_tools.close()

    async def _run(self, id: RequestId, method: str, params: RequestParams, request: Request) -> None:
        if method == CALL:
            answer = partial(self._meta_tools.call, params.name, params.arguments_json, request)
        elif method in (SUBSCRIBE, UNSUBSCRIBE):
            answer = partial(self.listening.answer, method, params, request)
        else:
            answer = partial(self._meta_tools.native.answer, method, params, request)
        await self._answer(id, answer, modern=request.is_modern)

    async def _answer(self, id: RequestId, answer: Callable[[], Awaitable[Members]], *, modern: bool) -> None:
        try:
            members = await answer()
            self._write(*jsonrpc.response_parts(id, stamped(members) if modern else members))
        except RpcError as error:
            self._write(jsonrpc.error_response(id, error.code, error.message, error.data))
        self._journal.ended(id)

    def _forget(self, id: RequestId, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # and not answered
            self._journal.ended(id)
        if self._by_id.get(id) is task:
            del self._by_id[id]

    def _listener(self, token: object, level: str | None) -> Listener:
        def hear(event: CallEvent) -> None:
            if isinstance(event, LogMessage):
                if passes(event, level):
                    self._tell("notifications/message", event.params)
            elif isinstance(token, int | str):
                self._tell("notifications/progress", {"progressToken": token, **event.params})

        return hear

    def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        self._tell_line(jsonrpc.notification(method, _encode(params)))

    def _tell_line(self, line: bytes) -> None:
        self._write(line)
        self._journal.told()

    def _caller(self, client: Mapping[str, Any]) -> Caller:
        name, version = str(client.get("name") or "unknown"), str(client.get("version") or "")
        rights = self._rights()
        # Clients that may use different things must not read each other's results.
        key = f"stdio:{name}" if rights is EVERYTHING else ":".join(("stdio", name, *rights.labels))
        return Caller(name=name, face="stdio", key=key, version=version, session=self.session, rights=rights)
