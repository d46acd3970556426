"""Where a server's notifications go: to the call they belong to, or to the catalog."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from toolcrib.model.call import Listener, LogMessage, Progress, ToolCall
from toolcrib.wire.protocol import LOG_LEVELS

log = logging.getLogger(__name__)

# What nobody asked for must not hold everybody up: decoding a megabyte may take a hundredth of a second.
MOST_NOTIFICATION_BYTES = 1024 * 1024


class Inbox:
    """Routes progress by token and log messages by stream; a changed tool list wakes `on_tools_changed`."""

    def __init__(self, server: str, on_tools_changed: Callable[[], None]) -> None:
        self._server = server
        self._on_tools_changed = on_tools_changed
        self._running: dict[int, ToolCall] = {}

    @contextmanager
    def listening(self, request_id: int, call: ToolCall) -> Iterator[None]:
        """Deliver the notifications of this request to the call's listener while it runs."""
        self._running[request_id] = call
        try:
            yield
        finally:
            self._running.pop(request_id, None)

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
        listener = self._common_listener() if request_id is None else self._listener_of(request_id)
        if listener is not None:
            listener(LogMessage(params))
        else:
            log.debug("%s: %s", self._server, params.get("data"))

    def _listener_of(self, request_id: int) -> Listener | None:
        call = self._running.get(request_id)
        return None if call is None else call.listener

    def _common_listener(self) -> Listener | None:
        """Who hears a log message on a shared stream, which does not say whose it is.

        Where all calls under way are one caller's, the call that asked for the most, so that it is heard once. Where
        they are not, nobody: it could show one caller's data to another.
        """
        if len({call.caller.key for call in self._running.values()}) != 1:
            return None
        asking = [call for call in self._running.values() if call.listener is not None and call.log_level in LOG_LEVELS]
        return min(asking, key=_least_grave).listener if asking else None


def _least_grave(call: ToolCall) -> int:
    return LOG_LEVELS.index(call.log_level or LOG_LEVELS[-1])


def _object(params: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(params)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
