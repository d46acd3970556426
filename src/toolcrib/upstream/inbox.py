"""Where a server's notifications go: to the call they belong to, or to the catalogue."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from toolcrib.model.call import Listener, LogMessage, Progress

log = logging.getLogger(__name__)

# What nobody asked for must not hold everybody up: decoding a megabyte may take a hundredth of a second.
MOST_NOTIFICATION_BYTES = 1024 * 1024


class Inbox:
    """Routes progress by token and log messages by stream; a changed tool list wakes `on_tools_changed`."""

    def __init__(self, server: str, on_tools_changed: Callable[[], None]) -> None:
        self._server = server
        self._on_tools_changed = on_tools_changed
        self._listeners: dict[int, Listener] = {}
        self._running = 0

    @contextmanager
    def listening(self, request_id: int, listener: Listener | None) -> Iterator[None]:
        """Deliver the notifications of this request to `listener` while it runs."""
        self._running += 1
        if listener is not None:
            self._listeners[request_id] = listener
        try:
            yield
        finally:
            self._running -= 1
            self._listeners.pop(request_id, None)

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
        listener = self._listeners.get(token) if isinstance(token, int) else None
        if listener is not None:
            listener(Progress(params))

    def _message(self, params: dict[str, Any], request_id: int | None) -> None:
        listener = self._only_listener() if request_id is None else self._listeners.get(request_id)
        if listener is not None:
            listener(LogMessage(params))
        else:
            log.debug("%s: %s", self._server, params.get("data"))

    def _only_listener(self) -> Listener | None:
        # On a shared stream a log message does not say whose it is: with two
        # calls under way, giving it to either could show one caller's data to another.
        return next(iter(self._listeners.values()), None) if self._running == 1 else None


def _object(params: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(params)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
