"""One client on a pair of pipes: each line is understood, and answered or passed on to the calls."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec
from msgspec import UNSET

from toolcrib.model.caller import EVERYTHING, Rights
from toolcrib.server.fixed_answers import FixedAnswers
from toolcrib.server.listening_clients import LISTEN, SUBSCRIBE, UNSUBSCRIBE
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.native_methods import METHODS
from toolcrib.server.protocol_eras import CALL, ProtocolEra, opened_by, resumed_era
from toolcrib.server.relayed_tasks import TASK_METHODS
from toolcrib.server.request_params import RequestParams, read_params
from toolcrib.server.session_journal import Journal, Progress
from toolcrib.server.stdio_calls import StdioCalls, WriteLine
from toolcrib.wire import jsonrpc
from toolcrib.wire.jsonrpc import INVALID_REQUEST, Message, RequestId, RpcError
from toolcrib.wire.protocol import ROOTS_CHANGED

_TAKE_TIME = METHODS | TASK_METHODS | {CALL, SUBSCRIBE, UNSUBSCRIBE}
NO_MESSAGE = "not a JSON-RPC message"


class StdioSession:
    """Speaks the protocol in the era that the client opens with; whatever is not a call is answered at once."""

    def __init__(
        self,
        meta_tools: MetaTools,
        answers: FixedAnswers,
        write: WriteLine,
        journal: Journal | None = None,
        *,
        rights: Callable[[], Rights] = lambda: EVERYTHING,
    ) -> None:
        self._answers = answers
        self._write = write
        self._journal = journal or Journal()
        self._era: ProtocolEra | None = None
        self.calls = StdioCalls(meta_tools, write, self._journal, session=secrets.token_hex(8), rights=rights)
        self.calls.listening.when_changed = self._note_listening

    def resume(self, progress: Progress) -> None:
        """Go on where another engine stopped: whatever was running is told to have an unknown outcome."""
        if progress.session:
            self._era = resumed_era(progress.session["era"], self._answers)
            self.calls.session = progress.session["session"]
            self.calls.listening.resume(progress.session, self.calls.request(RequestParams(), self._era))
        for id, method in progress.running.items():
            self.calls.give_up(id, self._era, method)

    def feed(self, line: bytes) -> None:
        """Take one line from the client; a broken one is answered and the connection lives on."""
        if not self._takes_as_call(line):
            self._journal.fed()

    def _takes_as_call(self, line: bytes) -> bool:
        """Deal with a line; whether it started a call, which is answered later."""
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.BadMessage as problem:
            self._refuse(problem.id, RpcError(problem.code, str(problem)))
            return False
        params = read_params(message.params_json)
        if params is None or not (message.method is not UNSET or _is_answer(message)):
            self._refuse(message.id, RpcError(INVALID_REQUEST, NO_MESSAGE))
        elif message.is_request:
            return self._request(message, params)
        elif message.method is UNSET:
            self.calls.requests.answered(message)
        elif message.method == "notifications/cancelled":
            self.calls.cancel(params.request_id)
        elif message.method == ROOTS_CHANGED:
            self.calls.roots_changed()
        return False

    def _request(self, message: Message, params: RequestParams) -> bool:
        if not isinstance(message.id, int | str):
            self._refuse(None, RpcError(INVALID_REQUEST, jsonrpc.NULL_ID))
            return False
        try:
            return self._take(message.id, str(message.method), params)
        except RpcError as refusal:
            self._refuse(message.id, refusal)
            return False

    def _take(self, id: RequestId, method: str, params: RequestParams) -> bool:
        is_first = self._era is None
        era = self._era = self._era or opened_by(method, params, self._answers)
        era.admit(method, params)
        if method == LISTEN:
            self.calls.listening.begin(id, params.notifications, self.calls.request(params, era))
            return False
        if method in _TAKE_TIME:
            if is_first:
                self._note(era)
            if method in TASK_METHODS:
                self.calls.start_about_task(id, method, params, era)
            else:
                self.calls.start(id, method, params, era)
            return True
        result = era.result(method, params)
        self._note(era)
        self._write(jsonrpc.response(id, result))
        if method == "initialize":
            self.calls.listening.greet(self.calls.request(params, era))
        return False

    def _note(self, era: ProtocolEra) -> None:
        self._journal.met({"session": self.calls.session, "era": era.state, **self.calls.listening.state})

    def _note_listening(self) -> None:
        if self._era is not None:
            self._note(self._era)

    def _refuse(self, id: object, refusal: RpcError) -> None:
        known = id if isinstance(id, int | str) else None
        self._write(jsonrpc.error_response(known, refusal.code, refusal.message, refusal.data))


class _Error(msgspec.Struct):
    code: int
    message: str


_error = msgspec.json.Decoder(_Error).decode


def _is_answer(message: Message) -> bool:
    """Whether the client answers a request."""
    if message.result is not UNSET:
        return isinstance(message.id, int | str) and bytes(message.result).startswith(b"{")
    if message.error is UNSET or message.id is UNSET:
        return False
    try:
        return bool(_error(message.error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
