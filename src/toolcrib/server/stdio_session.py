"""One client on a pair of pipes: each line is understood, and answered or passed on to the calls."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from toolcrib.server.fixed_answers import FixedAnswers
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol_eras import CALL, ProtocolEra, opened_by
from toolcrib.server.request_params import RequestParams, read_params
from toolcrib.server.stdio_calls import StdioCalls, WriteLine
from toolcrib.wire import jsonrpc
from toolcrib.wire.jsonrpc import INVALID_REQUEST, Message, RequestId, RpcError

NO_MESSAGE = "not a JSON-RPC message"


class StdioSession:
    """Speaks the protocol in the era that the client opens with; whatever is not a call is answered at once."""

    def __init__(self, meta_tools: MetaTools, answers: FixedAnswers, write: WriteLine) -> None:
        self._answers = answers
        self._write = write
        self._era: ProtocolEra | None = None
        self.calls = StdioCalls(meta_tools, write)

    def feed(self, line: bytes) -> None:
        """Take one line from the client; a broken one is answered and the connection lives on."""
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.BadMessage as problem:
            self._refuse(problem.id, RpcError(problem.code, str(problem)))
            return
        params = read_params(message.params_json)
        if params is None or not (message.method is not UNSET or _is_answer(message)):
            self._refuse(message.id, RpcError(INVALID_REQUEST, NO_MESSAGE))
        elif message.is_request:
            self._request(message, params)
        elif message.method == "notifications/cancelled":
            self.calls.cancel(params.request_id)

    def _request(self, message: Message, params: RequestParams) -> None:
        if not isinstance(message.id, int | str):
            self._refuse(None, RpcError(INVALID_REQUEST, jsonrpc.NULL_ID))
            return
        try:
            self._take(message.id, str(message.method), params)
        except RpcError as refusal:
            self._refuse(message.id, refusal)

    def _take(self, id: RequestId, method: str, params: RequestParams) -> None:
        if self._era is None:
            self._era = opened_by(method, params, self._answers)
        self._era.admit(method, params)
        if method == CALL:
            self.calls.start(id, params, self._era)
        else:
            self._write(jsonrpc.response(id, self._era.result(method, params)))

    def _refuse(self, id: object, refusal: RpcError) -> None:
        known = id if isinstance(id, int | str) else None
        self._write(jsonrpc.error_response(known, refusal.code, refusal.message, refusal.data))


class _Error(msgspec.Struct):
    code: int
    message: str


_error = msgspec.json.Decoder(_Error).decode


def _is_answer(message: Message) -> bool:
    """Whether the client answers a request; we make none, so that nothing has to be done about it."""
    if message.result is not UNSET:
        return isinstance(message.id, int | str) and bytes(message.result).startswith(b"{")
    if message.error is UNSET or message.id is UNSET:
        return False
    try:
        return bool(_error(message.error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
