"""One request over HTTP while its answer is awaited."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Raw
from msgspec.json import encode

from toolcrib.upstream.event_stream import Event
from toolcrib.wire import jsonrpc
from toolcrib.wire.broken_answer import broken_answer, malformed
from toolcrib.wire.json_arrays import items_of
from toolcrib.wire.protocol import MCP_PROTOCOL_VERSION_HEADER, MODERN_PROTOCOL_VERSIONS

VERSION_HEADER = MCP_PROTOCOL_VERSION_HEADER
_MOST_BATCH_VALUES = 500_000
_MOST_BATCH_MESSAGES = 1_000
_RESUME_SECONDS = 1.0
_MIN_RESUME_SECONDS = 0.05
_MAX_RESUME_SECONDS = 30.0


class Call:
    """One request under way: what identifies its answer, and where its stream could be taken up again."""

    def __init__(self, id: int, method: str, headers: Mapping[str, str]) -> None:
        self.id = id
        self.method = method
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.is_modern = self.headers.get(VERSION_HEADER) in MODERN_PROTOCOL_VERSIONS
        self.answer: jsonrpc.Message | None = None
        self.heard = False
        self.last_event_id = ""
        self.resume_seconds = _RESUME_SECONDS

    def note(self, event: Event) -> None:
        self.heard = True
        self.last_event_id = event.id
        if event.retry_seconds is not None:
            # Never at once: a server that breaks each stream off would keep us busy with nothing else.
            self.resume_seconds = min(max(event.retry_seconds, _MIN_RESUME_SECONDS), _MAX_RESUME_SECONDS)

    def offer(self, message: jsonrpc.Message) -> None:
        """Take `message` as the answer if it is one to this request, and the first."""
        if self.answer is None and self._is_answered_by(message):
            self.answer = message

    def offer_malformed(self, text: bytes, problem: jsonrpc.BadMessage) -> None:
        """Take what can't be read as a failure, if it was to answer this request: no other answer will come."""
        broken = broken_answer(text)
        # On a stream of its own an answer without an id can only be to this request.
        if self.answer is None and broken is not None and broken.id in (None, self.id):
            error = malformed(problem)
            self.answer = jsonrpc.Message(error=Raw(encode({"code": error.code, "message": error.message})))

    @property
    def resumable(self) -> bool:
        return bool(self.last_event_id) and not self.is_modern

    def result(self) -> bytes:
        """The result of the answer; raises RpcError where it is an error."""
        assert self.answer is not None
        if self.answer.result is UNSET:
            raise jsonrpc.rpc_error(b"" if self.answer.error is UNSET else bytes(self.answer.error))
        return bytes(self.answer.result)

    def _is_answered_by(self, message: jsonrpc.Message) -> bool:
        # On a stream of its own an error without an id can only mean this request.
        return message.id in (self.id, str(self.id)) or (message.id in (None, UNSET) and message.error is not UNSET)


def messages_in(data: bytes) -> list[bytes]:
    """One message, or the several of a batch, which the 2025-03-26 revision allowed."""
    if not data.lstrip().startswith(b"["):
        return [data]
    batch = items_of(data, _MOST_BATCH_VALUES)
    return [bytes(message) for message in batch[:_MOST_BATCH_MESSAGES]] if batch else [data]
