"""A request of a client, as far as every method needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolcrib.model.asking import Conversation, InputRound
from toolcrib.model.call import Listener, ToolCall
from toolcrib.model.caller import Caller, Rights
from toolcrib.server.execution_request import ExecutionRequest
from toolcrib.server.input_rounds import ModernClient


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks, and how to reach them meanwhile."""

    caller: Caller
    listener: Listener | None = None
    log_level: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    # How the client can be asked: one of the handshake era while the call runs, one of the newest revision by rounds.
    conversation: Conversation | None = None
    modern: ModernClient | None = None
    # What the caller may use by the time of the question: what lasts longer than the request must not rely on `caller`.
    rights_now: Callable[[], Rights] | None = None

    def caller_now(self) -> Caller:
        """The caller with the rights that it has by now."""
        return self.caller if self.rights_now is None else replace(self.caller, rights=self.rights_now())

    @property
    def wants_progress(self) -> bool:
        return self.meta.get("progressToken") is not None

    @property
    def is_modern(self) -> bool:
        """Whether the client speaks the newest revision."""
        return self.modern is not None

    def call(
        self,
        asked: ExecutionRequest,
        client: Conversation | None,
        listener: Listener | None,
        given: InputRound | None,
    ) -> ToolCall:
        """What is asked for as a call, whose client is reached in this way meanwhile."""
        return ToolCall(
            asked.server,
            asked.tool,
            asked.arguments,
            asked.raw,
            self.caller,
            listener,
            self.log_level,
            self.meta,
            wants_progress=self.wants_progress,
            conversation=client,
            round=given,
            rights_now=self.rights_now,
        )
