"""Errors of servers that clients can act on by themselves: these arrive as they are, and not as an answer that failed."""

from __future__ import annotations

from toolcrib.model.asking import AN_ADDRESS, Conversation, can_answer
from toolcrib.model.call import ExecutionError, ToolCall
from toolcrib.wire.jsonrpc import INVALID_PARAMS, RpcError
from toolcrib.wire.protocol import MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED


def rpc_error_for(error: ExecutionError, call: ToolCall) -> RpcError | None:
    """The server's own error, where the client of this call knows what to do about it."""
    code = error.details.get("rpcCode")
    if call.conversation is None or not _can_act(code, call.conversation, is_round=call.round is not None):
        return None
    return RpcError(code or 0, error.message, error.details.get("data"))


def _can_act(code: object, client: Conversation, *, is_round: bool) -> bool:
    if code == URL_ELICITATION_REQUIRED:
        # Of the handshake era: the client opens the addresses that it names, and calls again.
        return client.knows_url_errors and can_answer(client.capabilities, AN_ADDRESS)
    if code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        return client.takes_rounds
    return code == INVALID_PARAMS and is_round  # of answers that the server can't use
