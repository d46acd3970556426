"""Tasks that clients wait for themselves: their ids are sealed on the way to the client, and opened on the way back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcrib.gateway import Gateway
from toolcrib.model.asking import Conversation, Question, QuestionRefused
from toolcrib.model.call import ExecutionError, TaskRequest, ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.server.request_state import SealedStates, binding_of
from toolcrib.server.results import Members, passed_on
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

# So long a client may come back to a task; how long there is one is up to its server.
TASK_SECONDS = 30 * 86_400.0

_UNKNOWN = "taskId is not one that this gateway gave to this client, or it is too old"
# Told when the client asks about the task, where questions are checked and results are fitted.
_OF_STATES = frozenset({"inputRequests", "result"})
_encode = msgspec.json.Encoder().encode


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a task is: its server as it was launched, the tool that began it, and the server's own id for it."""

    server: str
    launch_key: str
    tool: str
    id: str


_place = msgspec.json.Decoder(_Place).decode


TASK_METHODS = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})


@dataclass(frozen=True, slots=True)
class TaskQuestion:
    """A request of a client about a task."""

    method: str
    task_id: object
    responses: bytes | None = None


class TaskClient(Conversation):
    """A client that asks about a task; what the task asks, it reads in the answer."""

    takes_rounds = True
    takes_tasks = True

    def __init__(self, capabilities: Mapping[str, Any]) -> None:
        self.capabilities = capabilities

    async def ask(self, question: Question) -> bytes:
        raise QuestionRefused(METHOD_NOT_FOUND, f"nobody is asked while a task is looked at: {question.kind}")


class RelayedTasks:
    """Hands tasks to clients and their requests about them to the servers; an id is good for its client only."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._states = SealedStates(gateway.state_key, time.time)

    def told(self, result: ToolResult, call: ToolCall) -> Members:
        """A task as its client gets it."""
        launch_key = self._gateway.launch_key(call.server)
        place = _encode(_Place(call.server, launch_key, call.tool, str(result.member("taskId")))).decode()
        sealed = self._states.seal("task", place, _binding(call.caller), TASK_SECONDS)
        members = passed_on(result, keeps={"resultType", "ttlMs"})
        kept = {name: value for name, value in members.items() if name not in _OF_STATES}
        return kept | {"taskId": msgspec.Raw(_encode(sealed))}

    async def asked(
        self, question: TaskQuestion, caller: Caller, client: Conversation
    ) -> tuple[ToolCall, Members, ToolResult | None]:
        """The call that a request stands for, what the server answers, and the result in it if it has one."""
        place = self._opened(question.task_id, caller)
        task = TaskRequest(question.method, place.id, question.responses)
        call = ToolCall(place.server, place.tool, {}, b"{}", caller, conversation=client, task=task)
        outcome = await self._gateway.execute_task(call)
        if outcome.error is not None or outcome.result is None:
            raise _rpc_error(outcome.error)
        members = passed_on(outcome.result, keeps={"ttlMs"})
        if "taskId" in members:
            members["taskId"] = msgspec.Raw(_encode(question.task_id))
        result = ToolResult(members.get("result", b"null"))
        return call, members, result if result.is_object else None

    def _opened(self, task_id: object, caller: Caller) -> _Place:
        try:
            place = _place(self._states.open(task_id, _binding(caller)).value or "")
        except RpcError:
            raise RpcError(INVALID_PARAMS, _UNKNOWN) from None
        if place.launch_key != self._gateway.launch_key(place.server):  # another server has the name by now
            raise RpcError(INVALID_PARAMS, _UNKNOWN)
        return place


def _binding(caller: Caller) -> bytes:
    # Not to its session: a client that was started anew may come back to its tasks.
    return binding_of("task", caller.key)


def _rpc_error(error: ExecutionError | None) -> RpcError:
    details: dict[str, Any] = {} if error is None else dict(error.details)
    code, message = details.get("rpcCode") or INTERNAL_ERROR, "" if error is None else error.message
    return RpcError(code, message, details.get("data"))
