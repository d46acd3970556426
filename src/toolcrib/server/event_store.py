"""What was said to a client of the handshake era, so that a stream that broke can be taken up again."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from weakref import WeakValueDictionary

from mcp.server.streamable_http import GET_STREAM_KEY, EventCallback, EventMessage, EventStore
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter

from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.server.drain import present_answer
from toolcrib.server.kept_events import KeptEvents, Stream
from toolcrib.wire.jsonrpc import NO_ANSWER, RequestId

_EVENT_ID = re.compile(r"([A-Za-z0-9_=-]{1,1000})\.([0-9a-f]{32})\.([0-9]{1,9})")
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,15}")


class SessionEvents(EventStore):
    """The events of one session. It has no way to those of another, whatever ids it is asked for."""

    def __init__(self, kept: KeptEvents) -> None:
        self._kept = kept
        # Weak, so that what makes room there is gone here too.
        self._streams: WeakValueDictionary[str, Stream] = WeakValueDictionary()

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        stream = self._streams.get(stream_id)
        if stream is None or stream.is_answered or stream.is_gone:  # an id may be used again after its answer
            stream = self._streams[stream_id] = Stream(stream_id, has_answer=stream_id != GET_STREAM_KEY)
        text = b"" if message is None else message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        number = stream.next
        is_answer = stream.has_answer and isinstance(message, JSONRPCResponse | JSONRPCError)
        self._kept.add(stream, text, is_answer=is_answer)
        return _event_id(stream, number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came after this event. The stream of a request is followed up to its answer, with which it ends.

        Any other stream is left to the SDK, which goes on with it; an id that is none of ours opens a new one.
        """
        name, key, number = _parts(last_event_id)
        stream = self._streams.get(name)
        if stream is not None and stream.key != key:
            stream = None
        if name != GET_STREAM_KEY:
            present_answer().owes(_request_id(name))
            await _follow(stream, name, number + 1, send_callback)
            return None
        if stream is not None:
            await _send_since(stream, number + 1, send_callback)
        return GET_STREAM_KEY


async def _follow(stream: Stream | None, name: str, number: int, send: EventCallback) -> None:
    while stream is not None and not stream.is_gone:
        changed = stream.changed
        number = await _send_since(stream, number, send)
        if stream.is_answered and number >= stream.next:
            return
        await changed.wait()
    await send(EventMessage(_lost(name)))


async def _send_since(stream: Stream, number: int, send: EventCallback) -> int:
    """Send what is kept from this number on; the number of what comes next."""
    for one, text in list(stream.since(number)):
        if text:  # else it only gave the client an id to go on from
            await send(EventMessage(jsonrpc_message_adapter.validate_json(text), _event_id(stream, one)))
        number = one + 1
    return number


def _lost(name: str) -> JSONRPCError:
    words = f"what was said about this request is no longer kept. {OUTCOME_UNKNOWN}"
    return JSONRPCError(jsonrpc="2.0", id=_request_id(name), error=ErrorData(code=NO_ANSWER, message=words))


def _request_id(name: str) -> RequestId:
    """The id of a request whose stream this is; the SDK has made a text of it, whatever it was."""
    return int(name) if _WHOLE_NUMBER.fullmatch(name) else name


def _event_id(stream: Stream, number: int) -> str:
    """Names the stream, so that a client can be told which request is meant even after its events were let go."""
    return f"{urlsafe_b64encode(stream.name.encode()).decode()}.{stream.key}.{number}"


def _parts(event_id: str) -> tuple[str, str, int]:
    found = _EVENT_ID.fullmatch(event_id)
    try:
        name = urlsafe_b64decode(found[1]).decode() if found else GET_STREAM_KEY
    except ValueError:
        found, name = None, GET_STREAM_KEY
    return (name, found[2], int(found[3])) if found else (name, "", -1)
