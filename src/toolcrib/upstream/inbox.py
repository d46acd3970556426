"""Where a server's notifications go: to the call they belong to, or to the catalog."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from toolcrib.model.call import Listener, LogMessage, Progress, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.wire.protocol import LOG_LEVELS

log = logging.getLogger(__name__)

# What nobody asked for must not hold everybody up: decoding a megabyte may take a hundredth of a second.
MOST_NOTIFICATION_BYTES = 1024 * 1024
# A server may work on for a call that was given up, and go on telling about it.
GIVEN_UP_SECONDS = 30.0

WhoAsks = tuple[str, str]


class Inbox:
    """Routes progress by token and log messages by stream; a changed tool list wakes `on_tools_changed`."""

    def __init__(self, server: str, on_tools_changed: Callable[[], None]) -> None:
        self._server = server
        self._on_tools_changed = on_tools_changed
        self._running: dict[int, ToolCall] = {}
        self._given_up: dict[WhoAsks, float] = {}

    @contextmanager
    def listening(self, request_id: int, call: ToolCall) -> Iterator[None]:
        """Deliver the notifications of this request to the call's listener while it runs."""
        self._running[request_id] = call
        try:
            yield
        except asyncio.CancelledError:
            self._given_up[_who(call.caller)] = asyncio.get_running_loop().time() + GIVEN_UP_SECONDS
            raise
        finally:
            self._running.pop(request_id, None)

    @property
    def lowest_level(self) -> str | None:
        """The least grave log messages that any call under way asks for: one level holds for all calls on a stream."""
        asked = [call for call in self._running.values() if call.log_level in LOG_LEVELS]
        return min(asked, key=_least_grave).log_level if asked else None

    def receive(self, method: str, params: bytes, request_id: int | None) -> None:
        if len(params) > MOST_NOTIFICATION_BYTES:
            log.debug("%s: a notification of %d bytes was dropped", self._server, len(params))
        elif method == "notifications/tools/list_changed":
            self._on_tools_changed()
        elif method == "notifications/progress":
            self._progress(_object(params))
        elif method == "notifications/message":
            self._message(_object(params), request_id)

    def _progress(self, params: dict[str, Any]) -> None:
        token = params.pop("progressToken", None)
        listener = self._listener_of(token) if isinstance(token, int) else None
        if listener is not None:
            listener(Progress(params))

    def _message(self, params: dict[str, Any], request_id: int | None) -> None:
        call = self._running.get(request_id) if request_id is not None else self._common_call()
        if call is not None and call.listener is not None and _asks_for(call, params.get("level")):
            call.listener(LogMessage(params))
        else:
            log.debug("%s: %s", self._server, params.get("data"))

    def _listener_of(self, request_id: int) -> Listener | None:
        call = self._running.get(request_id)
        return None if call is None else call.listener

    def _common_call(self) -> ToolCall | None:
        """Who hears a log message on a shared stream, which does not say whose it is.

        Where all work under way is one caller's, the call that asked for the most, so that it is heard once. Where
        it is not, nobody: it could show one caller's data to another.
        """
        if len(self._at_work()) != 1:
            return None
        asking = [call for call in self._running.values() if call.listener is not None and call.log_level in LOG_LEVELS]
        return min(asking, key=_least_grave) if asking else None

    def _at_work(self) -> set[WhoAsks]:
        """For whom the server may be doing something: calls under way, and calls that were given up a moment ago."""
        if self._given_up:
            now = asyncio.get_running_loop().time()
            self._given_up = {who: until for who, until in self._given_up.items() if until > now}
        return {*self._given_up, *(_who(call.caller) for call in self._running.values())}


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
    return value if isinstance(value, dict) else {}
