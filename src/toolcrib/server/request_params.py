"""The parameters of a client's request, as far as we read them: one decode for every method."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolcrib.wire.jsonrpc import INVALID_PARAMS, RpcError
from toolcrib.wire.protocol import LOG_LEVELS


class RequestParams(msgspec.Struct, rename="camel"):
    """Nothing is checked while decoding: which members matter depends on the method."""

    meta: Any = msgspec.field(name="_meta", default=None)
    name: Any = None
    arguments: Raw | UnsetType = UNSET
    cursor: Any = None
    level: Any = None
    request_id: Any = None
    request_state: Any = None
    task_id: Any = None
    input_responses: Raw | UnsetType = UNSET
    protocol_version: Any = None
    capabilities: Any = None
    client_info: Any = None
    uri: Any = None
    ref: Any = None
    argument: Any = None
    context: Any = None
    notifications: Any = None

    @property
    def meta_object(self) -> dict[str, Any]:
        return self.meta if isinstance(self.meta, dict) else {}

    @property
    def responses_json(self) -> bytes | None:
        """The answers that a call of the modern era brings, as the client wrote them."""
        given = b"null" if self.input_responses is UNSET else bytes(self.input_responses)
        return None if given == b"null" else given

    @property
    def arguments_json(self) -> bytes:
        """The arguments of a call as the client wrote them; none at all is an empty object."""
        given = b"null" if self.arguments is UNSET else bytes(self.arguments)
        return b"{}" if given == b"null" else given


_decode = msgspec.json.Decoder(RequestParams).decode


def read_params(text: bytes) -> RequestParams | None:
    """The parameters in `text`; None where it is not an object that can be read."""
    if text == b"null":
        return RequestParams()
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def require(*claims: bool) -> None:
    """Refuse a request unless all of this holds of its parameters."""
    if not all(claims):
        raise RpcError(INVALID_PARAMS, "Invalid request parameters", "")


def is_implementation(value: Any) -> bool:
    """Whether `value` tells the name and version of a program, as the protocol wants it."""
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("name", "version"))


def is_progress_token(value: Any) -> bool:
    return value is None or isinstance(value, int | str)


def is_cursor(value: Any) -> bool:
    return value is None or isinstance(value, str)


def is_level(value: Any) -> bool:
    return isinstance(value, str) and value in LOG_LEVELS
