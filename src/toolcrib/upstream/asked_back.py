"""What servers may ask of us, and what they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, RequestId, error_response, response

# Servers list some of their tools only for clients that can be asked. What is declared here is answered below.
CAPABILITIES: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}

_ANSWERS: Mapping[str, bytes] = {"ping": b"{}", "roots/list": b'{"roots":[]}'}
_REFUSALS: Mapping[str, str] = {
    "elicitation/create": "nobody was asked: this gateway can't pass questions on to a person yet",
    "sampling/createMessage": "no model was asked: this gateway can't pass prompts on to a client's model yet",
}


def answer_server_request(id: RequestId, method: str) -> bytes:
    """Our reply to a request from a server: we share no folders, and no question reaches a person or a model so far."""
    if method in _ANSWERS:
        return response(id, _ANSWERS[method])
    refusal = _REFUSALS.get(method, f"{method} is not supported by this client")
    return error_response(id, METHOD_NOT_FOUND, refusal)
