"""Calls of clients that take input rounds themselves: what they are told in place of a result, and how they go on."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import msgspec

from toolcrib.errors import OutcomeUnknown
from toolcrib.gateway import Gateway
from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.model.asking import KIND_OF, Conversation, InputRound, Question
from toolcrib.model.call import ExecutionError, Listener
from toolcrib.model.caller import Caller
from toolcrib.queries.json_forms import failure_json
from toolcrib.server import render
from toolcrib.server.execution_request import ExecutionRequest
from toolcrib.server.parked_calls import ParkedCalls
from toolcrib.server.request_state import SealedStates, binding_of
from toolcrib.server.results import Members

INPUT_REQUIRED = "input_required"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ModernClient:
    """What a request of the newest revision says of its client: what it can do, and what it brings of a former answer."""

    capabilities: Mapping[str, Any]
    responses: bytes | None = None
    state: object = None


class RunCall(Protocol):
    """Runs a call for this client."""

    def __call__(
        self, client: Conversation, listener: Listener | None, *, given: InputRound | None
    ) -> Awaitable[Members]: ...


class InputRounds:
    """Runs each call for as many requests as it takes."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._states = SealedStates(gateway.state_key, time.time)
        self.parked = ParkedCalls(gateway.parked)

    async def run(
        self, asked: ExecutionRequest, caller: Caller, client: ModernClient, listener: Listener | None, run: RunCall
    ) -> Members:
        """The answer to one request: the tool's result, or what the client has to find out first."""
        who = (caller.key, caller.session)
        # Whoever may do other things than when the call began, as under `execute_read_only`, does not go on with it.
        binding = partial(self._binding, asked, (*who, *caller.rights.labels))
        state = None if client.state is None else self._states.open(client.state, binding())
        if state is not None and state.kind == "parked":
            answer = await self.parked.go_on(state.value, client.responses, listener)
            return self._told(answer, asked, binding)
        given = InputRound(client.responses, None if state is None else state.value)
        running = partial(run, given=None if given == InputRound() else given)
        away = self.parked.client(who, client.capabilities)
        if client.capabilities.keys().isdisjoint(KIND_OF.values()):
            return self._told(await running(away, listener), asked, binding)
        return self._told(await self.parked.run(who, away, running, listener), asked, binding)

    def _binding(self, asked: ExecutionRequest, who: tuple[str, ...]) -> bytes:
        """What a state is good for: nobody agreed to the same call with other arguments."""
        arguments = msgspec.json.encode(asked.arguments, order="sorted").decode()
        return binding_of(*who, self._gateway.launch_key(asked.server), asked.server, asked.tool, arguments)

    def _told(self, answer: Members | str | None, asked: ExecutionRequest, binding: Callable[[], bytes]) -> Members:
        """An answer as it is; a call that waits is told by its questions, and one that is gone by an error."""
        if answer is None:
            lost = OutcomeUnknown("this call does not wait for answers any more", hint=OUTCOME_UNKNOWN)
            failure = failure_json(ExecutionError.of(lost, asked.server, asked.tool))
            return render.text_result(failure, is_error=True)
        if isinstance(answer, str):
            state = self._states.seal("parked", answer, binding())
            return _asking(self.parked.questions(answer)) | {"requestState": msgspec.Raw(_encode(state))}
        given = answer.get("requestState") if "resultType" in answer else None
        if given is None:
            return answer
        state = self._states.seal("relayed", msgspec.json.decode(given), binding())
        return answer | {"requestState": msgspec.Raw(_encode(state))}


def _asking(questions: Mapping[str, Question]) -> Members:
    requests = {key: {"method": one.method, "params": msgspec.Raw(one.params)} for key, one in questions.items()}
    return {
        "resultType": msgspec.Raw(_encode(INPUT_REQUIRED)),
        "inputRequests": msgspec.Raw(_encode(requests)),
    }
