"""The state that a client brings back with its answers: sealed, so that it is good only for what it was given for."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from typing import Literal

import msgspec

from toolcrib.wire.jsonrpc import INVALID_PARAMS, RpcError

PREFIX = "tc1."
# Longer than any question may wait, so that what ends a call is the question.
STATE_SECONDS = 86_400.0
_MAC_BYTES = 32
# One sentence for every reason: who tries states learns nothing from it.
_REFUSED = (
    "requestState is not one that this gateway gave for this call, or it is too old: call the tool anew without it"
)

StateKind = Literal["parked", "relayed", "task"]


class State(msgspec.Struct, frozen=True, array_like=True):
    """What is inside: the handle of a call that waits here, the state that the server gave, or where a task is."""

    kind: StateKind
    value: str | None
    expires_at: float


_decode = msgspec.json.Decoder(State).decode


class SealedStates:
    """Seals and opens states. They are signed and not encrypted: all that is inside, the client has seen anyway."""

    def __init__(self, key: Callable[[], bytes], now: Callable[[], float]) -> None:
        self._key = key
        self._now = now

    def seal(self, kind: StateKind, value: str | None, binding: bytes, seconds: float = STATE_SECONDS) -> str:
        """The text to give to the client; it can be opened with the same binding only."""
        inside = msgspec.json.encode(State(kind, value, self._now() + seconds))
        return PREFIX + base64.urlsafe_b64encode(self._mac(inside, binding) + inside).decode()

    def open(self, text: object, binding: bytes) -> State:
        """What was sealed; raises RpcError for any other text, however it came about."""
        sealed = _bytes_of(text)
        mac, inside = sealed[:_MAC_BYTES], sealed[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(inside, binding)):
            raise _refusal()
        state = _decode(inside)
        if state.expires_at < self._now():
            raise _refusal()
        return state

    def _mac(self, inside: bytes, binding: bytes) -> bytes:
        return hmac.digest(self._key(), hashlib.sha256(binding).digest() + inside, "sha256")


def binding_of(*parts: str) -> bytes:
    """What a state is good for, as bytes that no other parts give."""
    return msgspec.json.encode(parts)


def _bytes_of(text: object) -> bytes:
    if not isinstance(text, str) or not text.startswith(PREFIX):
        raise _refusal()
    given = text[len(PREFIX) :].encode("utf-8", "replace")
    try:
        sealed = base64.b64decode(given, altchars=b"-_", validate=True)
    except binascii.Error:
        raise _refusal() from None
    if base64.urlsafe_b64encode(sealed) != given:  # several texts stand for the same bytes; one of them is ours
        raise _refusal()
    return sealed


def _refusal() -> RpcError:
    return RpcError(INVALID_PARAMS, _REFUSED)
