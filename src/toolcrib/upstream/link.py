"""What every transport to a server offers: requests out, results in, as undecoded JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from toolcrib.wire.jsonrpc import Json

NotificationHandler = Callable[[str, bytes, int | None], None]
"""(method, params, id of the request on whose stream it came, where the transport knows it)"""
RequestHandler = Callable[[str, bytes, int | None], Awaitable[bytes]]
"""The same of a request: gives its result, or raises QuestionRefused."""


@dataclass(frozen=True, slots=True)
class TransportLimits:
    """How long connecting may take and how large a message may be."""

    connect_seconds: float = 10.0
    max_line_bytes: int = 4 * 1024 * 1024
    max_result_line_bytes: int = 16 * 1024 * 1024
    max_body_bytes: int = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LinkEars:
    """Who hears what a server says by itself: its notifications, and what it asks of us."""

    notified: NotificationHandler
    asked: RequestHandler


class SessionExpired(Exception):
    """The server forgot our session: connect anew."""


class Link(Protocol):
    """One open transport. Foreign failures come out as our own errors, with `sent` telling whether the request had left.

    Cancelling a waiting `request` cancels it on the server, the way the transport and the era ask for. One that `attributes`
    knows of all that a server says in the middle of a request which request that is.
    """

    @property
    def attributes(self) -> bool: ...

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> Json:
        """The `result` of the answer; raises RpcError for an `error`, or an UpstreamError, or SessionExpired."""

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:
        """Send a notification; nothing comes back."""

    async def wait_closed(self) -> str:
        """Wait until the other side is gone; why, in words for a person."""

    async def close(self) -> None:
        """End the session and free everything; bounded in time."""
