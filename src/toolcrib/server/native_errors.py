"""What goes wrong with a prompt or a resource, as the errors that clients know for it."""

from __future__ import annotations

from typing import Any

from toolcrib.errors import KEPT_AWAY, InvalidArguments, ServerNotFound, ToolcribError, ToolNotFound
from toolcrib.model.call import ExecutionError
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from toolcrib.wire.protocol import RESOURCE_NOT_FOUND

# Under one code, whether it is not there or may not be used; the message says why.
_NOT_THERE = frozenset(error.code for error in (ToolNotFound, ServerNotFound, *KEPT_AWAY))


def not_found(uri: str, *, modern: bool, servers: list[str] | None = None) -> RpcError:
    """An address that leads nowhere, or to more than one server."""
    code = INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
    if servers:
        return RpcError(code, f"several servers may have {uri}", {"uri": uri, "servers": servers})
    return RpcError(code, "Resource not found", {"uri": uri})


def rpc_error(error: ExecutionError, *, modern: bool, uri: str | None = None) -> RpcError:
    """An execution that failed; what the server said stays as it is, but for the code that each era has for an address."""
    code, data = error.details.get("rpcCode"), error.details.get("data")
    if uri is not None and (error.code in _NOT_THERE or _is_about_address(code, data)):
        return RpcError(INVALID_PARAMS if modern else RESOURCE_NOT_FOUND, error.message, {"uri": uri})
    if isinstance(code, int):
        return RpcError(code, error.message, data)
    is_callers = error.code in _NOT_THERE or error.code == InvalidArguments.code
    told: dict[str, Any] = {"code": error.code, **({"hint": error.hint} if error.hint else {})}
    return RpcError(INVALID_PARAMS if is_callers else INTERNAL_ERROR, error.message, told)


def rpc_error_of(error: ToolcribError, *, modern: bool) -> RpcError:
    return rpc_error(ExecutionError.of(error, "", ""), modern=modern)


def _is_about_address(code: object, data: object) -> bool:
    return code == RESOURCE_NOT_FOUND or (code == INVALID_PARAMS and isinstance(data, dict) and "uri" in data)
