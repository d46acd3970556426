"""From a tools/call of a client to the gateway, and back: the only thing both transports share of the five tools."""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import msgspec

from toolcrib.clients.display import ALL_OF_THE_CONTENT, ClientDisplay
from toolcrib.clients.table import display_of
from toolcrib.errors import (
    KEPT_AWAY,
    StoreUnavailable,
    ToolcribError,
    ToolDisabled,
    ToolExecutionError,
    ValidationError,
)
from toolcrib.gateway import Gateway
from toolcrib.model.asking import TASKS_EXTENSION, Conversation, InputRound, declares_tasks
from toolcrib.model.call import ExecutionError, ExecutionResult, Listener, ToolResult
from toolcrib.model.caller import Caller, Rights
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.view import ToolDetails
from toolcrib.queries.details_answer import render_details
from toolcrib.queries.json_forms import failure_json, search_json
from toolcrib.queries.listing import server_list, tool_list
from toolcrib.search.suggest import nearest
from toolcrib.server import render
from toolcrib.server.client_fit import fitted, fitted_members, limit_for
from toolcrib.server.definitions import EXECUTE_READ_ONLY, META_TOOL_NAMES, offered_tools
from toolcrib.server.execution_request import ExecutionRequest, read_request
from toolcrib.server.input_rounds import InputRounds
from toolcrib.server.native_methods import NativeMethods
from toolcrib.server.protocol_errors import answered, rpc_error_for
from toolcrib.server.relayed_tasks import RelayedTasks, TaskClient, TaskQuestion
from toolcrib.server.requests import Request
from toolcrib.server.results import Keep, Members, interim_members, shape_failure, shape_result
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from toolcrib.wire.protocol import MISSING_REQUIRED_CLIENT_CAPABILITY

log = logging.getLogger(__name__)

READ_RESULT = "read_result"
NO_RESULT = ToolResult(b"{}")
_READ_ONLY = Rights(read_only=True, label=EXECUTE_READ_ONLY)
_USE_EXECUTE_TOOL = f"{EXECUTE_READ_ONLY} runs only tools that change nothing; use execute_tool for others."

T = TypeVar("T")


class _NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _SearchArguments(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    server: str | None = None
    limit: int | None = None


class _ListArguments(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    server: str
    include_disabled: bool | None = None


class _DetailsArguments(msgspec.Struct, forbid_unknown_fields=True):
    server: str
    tool: str


class MetaTools:
    """Answers the five tools; a failure inside them is an answer too, a broken request is an RpcError."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._rounds = InputRounds(gateway)
        self._tasks = RelayedTasks(gateway)
        self.native = NativeMethods(gateway, self._rounds)
        self._handlers: dict[str, Callable[[bytes, Request], Awaitable[Members]]] = {
            "list_mcp_servers": self._list_servers,
            "search_tools": self._search,
            "list_tools": self._list_tools,
            "get_tool_details": self._details,
            "execute_tool": self._execute,
            EXECUTE_READ_ONLY: self._execute_read_only,
        }

    @property
    def definitions(self) -> tuple[dict[str, Any], ...]:
        """The tools that a client is offered."""
        return offered_tools(read_only_tool=self._gateway.settings.read_only_tool)

    async def call(self, name: str, arguments: bytes, request: Request) -> Members:
        """The members of the tool result for one tools/call."""
        handler = self._handlers.get(name)
        if handler is None or (name == EXECUTE_READ_ONLY and not self._gateway.settings.read_only_tool):
            raise RpcError(METHOD_NOT_FOUND, _unknown_tool(name))
        return await answered(name, handler(arguments, request), partial(_failed, name))

    async def task(self, question: TaskQuestion, caller: Caller, capabilities: Mapping[str, Any]) -> Members:
        """The answer to a request of a client about a task that it was handed."""
        work = self._about_task(question, caller, capabilities)
        return await answered(question.method, work, partial(_failed, question.method))

    async def _about_task(self, question: TaskQuestion, caller: Caller, capabilities: Mapping[str, Any]) -> Members:
        if not declares_tasks(capabilities):
            needed: Mapping[str, Any] = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}
            raise RpcError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", needed)
        call, members, result = await self._tasks.asked(question, caller, TaskClient(capabilities))
        if result is None:
            return members
        said = ExecutionError(ToolExecutionError.code, result.text, call.server, call.tool) if result.is_error else None
        shaped = self._shape(ExecutionResult(result, said), caller, is_bounded=True)
        return members | {"result": msgspec.Raw(render.encode(shaped))}

    def rights_of(self, profile: str, own: Rights) -> Rights:
        """What a client may use that has this profile, and these rights of its own."""
        return self._gateway.rights(profile).and_also(own)

    async def roots_changed(self, session: str) -> None:
        """The client in this session says that its folders are others by now."""
        await self._gateway.roots_changed(session)

    @property
    def waiting_calls(self) -> int:
        """How many calls wait for a client that is away to answer a question."""
        return len(self._rounds.parked)

    async def close(self) -> None:
        """End calls that wait for a client, which will not come back."""
        await self._rounds.parked.close()

    async def _list_servers(self, arguments: bytes, request: Request) -> Members:
        _decoded(arguments, _NoArguments)
        found = await self._gateway.list_servers(caller=request.caller)
        return self._answer(
            server_list(found, enabled=self._gateway.settings.enabled, rights=request.caller.rights), request
        )

    async def _search(self, arguments: bytes, request: Request) -> Members:
        asked = _decoded(arguments, _SearchArguments)
        if asked.server is not None and not self._gateway.knows(asked.server, caller=request.caller):
            return self._missing(asked.server, "", request.caller)
        answer = await self._gateway.search_tools(
            asked.query, server=asked.server, limit=asked.limit, caller=request.caller
        )
        return self._answer(search_json(answer), request)

    async def _list_tools(self, arguments: bytes, request: Request) -> Members:
        asked = _decoded(arguments, _ListArguments)
        if not self._gateway.knows(asked.server, caller=request.caller):
            return self._missing(asked.server, "", request.caller)
        everything = await self._gateway.list_tools(asked.server, include_disabled=True, caller=request.caller)
        found = [tool for tool in everything if tool.enabled or asked.include_disabled]
        trouble = self._gateway.trouble(asked.server, caller=request.caller)
        waiting = sum(tool.waits for tool in everything)
        return self._answer(tool_list(asked.server, found, trouble, waiting), request)

    async def _details(self, arguments: bytes, request: Request) -> Members:
        asked = _decoded(arguments, _DetailsArguments)
        found = await self._usable(asked.server, asked.tool, request.caller)
        if found is None:
            return self._missing(asked.server, asked.tool, request.caller)
        return self._answer(render_details(found), request)

    async def _execute(self, arguments: bytes, request: Request) -> Members:
        asked = self._meant(await self._nested(read_request(arguments), request.caller), request.caller)
        if request.modern is None:
            return await self._run(asked, request, request.conversation, request.listener)
        run = partial(self._run, asked, request)
        return await self._rounds.run(asked, request.caller, request.modern, request.listener, run)

    async def _execute_read_only(self, arguments: bytes, request: Request) -> Members:
        """The same with fewer rights: whatever is not read only is not there for this name."""
        rights = request.caller.rights.and_also(_READ_ONLY)
        return await self._execute(arguments, replace(request, caller=replace(request.caller, rights=rights)))

    async def _run(
        self,
        asked: ExecutionRequest,
        request: Request,
        client: Conversation | None,
        listener: Listener | None,
        given: InputRound | None = None,
    ) -> Members:
        call = request.call(asked, client, listener, given)
        outcome = await self._gateway.execute(call)
        if outcome.error is not None and _is_off_for_its_name(outcome.error, call.caller.rights):
            outcome = replace(outcome, error=replace(outcome.error, hint=_USE_EXECUTE_TOOL))
        if outcome.error is not None and (error := rpc_error_for(outcome.error, call)) is not None:
            raise error
        if outcome.result is not None and outcome.result.is_task:
            return self._tasks.told(outcome.result, call)
        if outcome.result is not None and not outcome.result.is_complete:
            return interim_members(outcome.result)
        if outcome.result is not None:
            self.native.note_links(outcome.result, asked.server, request.caller)
        # What is read of a large result fits already; shelved again, it could never be read.
        is_reading = (asked.server, asked.tool) == (BUILT_IN_SERVER, READ_RESULT)
        try:
            return self._shape(outcome, request.caller, is_bounded=not is_reading)
        except StoreUnavailable as trouble:
            log.warning("could not store a large result, so it is passed on whole: %s", trouble.message)
            return self._shape(outcome, request.caller, is_bounded=False)

    async def _nested(self, asked: ExecutionRequest, caller: Caller) -> ExecutionRequest:
        """The request with arguments that stand beside server and tool put where they belong."""
        if not asked.beside:
            return asked
        found = await self._usable(asked.server, asked.tool, caller)
        if found is None:
            return asked  # running it says what is wrong with the name
        return asked.with_flat_arguments(parameter.name for parameter in found.parameters)

    async def _usable(self, server: str, tool: str, caller: Caller) -> ToolDetails | None:
        """The details of a tool that the caller may use now."""
        try:
            found = await self._gateway.get_tool_details(server, tool, caller=caller)
        except KEPT_AWAY:
            return None
        return found if found is not None and found.enabled else None

    def _meant(self, asked: ExecutionRequest, caller: Caller) -> ExecutionRequest:
        """The item of a server that a built-in tool stands for: what a client brings back later is bound to that."""
        found = self._gateway.meant(asked.server, asked.tool, asked.arguments, caller)
        if found is None:
            return asked
        raw = msgspec.json.encode(found.arguments)
        return ExecutionRequest(found.server, found.tool, raw, found.arguments)

    def _shape(self, outcome: ExecutionResult, caller: Caller, *, is_bounded: bool) -> Members:
        settings, display, keep = self._gateway.settings, self._display(caller), self._keep(caller)
        result = outcome.result or NO_RESULT
        if outcome.error is None and settings.results == "auto":
            result = fitted(result, display)
        max_bytes = limit_for(result, display, settings.max_result_bytes) if is_bounded else sys.maxsize
        if outcome.error is not None:
            return fitted_members(shape_failure(outcome.error, outcome.result, max_bytes, keep), display)
        if outcome.result is None:
            raise RpcError(INTERNAL_ERROR, "the call ended without a result")
        return shape_result(result, settings.results, max_bytes, keep)

    def _answer(self, answer: Mapping[str, Any], request: Request) -> Members:
        """An answer of our own; one that is longer than the client shows is kept like any large result."""
        members, text = render.text_result(answer), render.encode(answer).decode()
        if self._display(request.caller).fitting(text) == text:
            return members
        try:
            large = ToolResult(b'{"content":%b}' % bytes(members["content"]))
            return shape_result(large, "auto", 0, self._keep(request.caller))
        except StoreUnavailable:
            return members

    def _display(self, caller: Caller) -> ClientDisplay:
        return display_of(caller.name) if self._gateway.settings.fit_clients else ALL_OF_THE_CONTENT

    def _keep(self, caller: Caller) -> Keep:
        return partial(self._gateway.keep_result, caller)

    def _missing(self, server: str, tool: str, caller: Caller) -> Members:
        error = ExecutionError.of(self._gateway.missing(server, tool, caller=caller), server, tool)
        return render.text_result(failure_json(error), is_error=True)


def _is_off_for_its_name(error: ExecutionError, rights: Rights) -> bool:
    """Whether a tool is refused because of the name it was run by; what rules or a token refuse no other name runs either."""
    return error.code == ToolDisabled.code and _READ_ONLY in rights.parts and f": {EXECUTE_READ_ONLY} " in error.message


def _failed(name: str, error: ToolcribError) -> RpcError:
    if isinstance(error, ValidationError):
        return RpcError(INVALID_PARAMS, f"{name}: {error}")
    return RpcError(INTERNAL_ERROR, f"{name}: {error.message}")


def _decoded(arguments: bytes, kind: type[T]) -> T:
    """The arguments of a meta-tool; a number written as text is taken for the number."""
    try:
        return msgspec.json.decode(arguments, type=kind, strict=False)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ValidationError(str(problem)) from None


def _unknown_tool(name: str) -> str:
    meant = nearest(name, META_TOOL_NAMES, limit=1)
    suggestion = f" Did you mean {meant[0]}?" if meant else ""
    return f"unknown tool {name!r}; this gateway has {', '.join(META_TOOL_NAMES)}.{suggestion}"
