"""What goes wrong, as the JSON-RPC errors that clients get.

Errors of servers that clients can act on by themselves arrive as they are, and not as an answer that failed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from toolcrib.errors import ToolcribError
from toolcrib.model.asking import AN_ADDRESS, Conversation, can_answer
from toolcrib.model.call import ExecutionError, ToolCall
from toolcrib.server.results import Members
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from toolcrib.wire.protocol import MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED

log = logging.getLogger(__name__)


async def answered(name: str, work: Awaitable[Members], error_of: Callable[[ToolcribError], RpcError]) -> Members:
    """The members of an answer; whatever goes wrong is an RpcError."""
    try:
        return await work
    except ToolcribError as error:
        raise error_of(error) from error
    except RpcError:
        raise
    except Exception as error:
        log.exception("%s failed unexpectedly", name)
        raise RpcError(INTERNAL_ERROR, f"{name} failed inside the gateway: {type(error).__name__}") from error


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
