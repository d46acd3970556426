"""JSON-RPC messages, with parameters and results left as the JSON text they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolcrib.model.clean_text import clean_words, cleaned

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# Of our own: a request was taken, and no answer to it will come.
NO_ANSWER = -32000

NULL_ID = "the id of a request must be a text or a number, not null"
# A broken message is decoded once more as a whole, to mend it or to find its id; a huge one is not worth that.
_MOST_MENDED_BYTES = 1024 * 1024

RequestId = int | str
Json = bytes | Raw
"""JSON text that nobody has decoded yet."""


class Message(msgspec.Struct, frozen=True):
    """Any JSON-RPC message; which fields are set says which kind it is."""

    jsonrpc: str = ""
    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not UNSET and self.id is not UNSET

    @property
    def params_json(self) -> bytes:
        return b"{}" if self.params is UNSET else bytes(self.params)


class BadMessage(Exception):
    """A line that is no JSON-RPC message; `code` is the error to answer with, to `id` where it could be read."""

    def __init__(self, code: int, reason: str, id: RequestId | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.id = id


class RpcError(Exception):
    """The peer answered a request with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


_decode = msgspec.json.Decoder(Message).decode


def decode(line: bytes) -> Message:
    """The message in `line`; raises BadMessage."""
    try:
        _check_text(line)
        message = _decode(line)
    except msgspec.ValidationError as problem:
        raise BadMessage(INVALID_REQUEST, str(problem), _id_in(line)) from None
    except UnicodeDecodeError:
        # Bytes that are no UTF-8 can only stand inside of texts.
        return decode(line.decode("utf-8", "replace").encode())
    except (msgspec.DecodeError, RecursionError):
        message = _decode_mended(_mended(line))
    if message.jsonrpc != "2.0":
        raise BadMessage(INVALID_REQUEST, 'expected "jsonrpc": "2.0"', _plain_id(message.id))
    return message


def _check_text(line: bytes) -> None:
    # What stays undecoded is not checked by the decoder, and is relayed to clients that want UTF-8.
    if not line.isascii():
        line.decode()


def _decode_mended(line: bytes) -> Message:
    try:
        return _decode(line)
    except msgspec.ValidationError as problem:
        raise BadMessage(INVALID_REQUEST, str(problem), _id_in(line)) from None
    except (msgspec.DecodeError, RecursionError) as problem:
        raise BadMessage(PARSE_ERROR, f"not JSON: {problem}") from None


def _mended(line: bytes) -> bytes:
    """The same JSON with lone surrogates replaced, which strict decoders refuse."""
    if len(line) > _MOST_MENDED_BYTES:
        raise BadMessage(PARSE_ERROR, "not JSON")
    try:
        data = json.loads(line.decode(), parse_constant=_refuse_constant)
        text = json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except (ValueError, RecursionError) as problem:
        raise BadMessage(PARSE_ERROR, f"not JSON: {problem}") from None
    if not isinstance(data, dict):
        raise BadMessage(INVALID_REQUEST, "expected a JSON object")
    return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _id_in(line: bytes) -> RequestId | None:
    if len(line) > _MOST_MENDED_BYTES:
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _plain_id(data.get("id")) if isinstance(data, dict) else None


def _plain_id(value: object) -> RequestId | None:
    """An id that can be answered to: lone surrogates can't be written."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def request(id: RequestId, method: str, params: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}' % (_json(id), method.encode(), params)


def notification(method: str, params: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), params)


def response(id: RequestId, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_json(id), result)


def response_parts(id: RequestId, members: Mapping[str, Json]) -> list[Json]:
    """A response as pieces to be joined once, where it is written: a large member is not copied on the way."""
    parts: list[Json] = [b'{"jsonrpc":"2.0","id":', _json(id), b',"result":']
    separator = b"{"
    for name, value in members.items():
        parts += (separator, _json(name), b":", value)
        separator = b","
    parts.append(b"}}" if members else b"{}}")
    return parts


def error_response(id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_json(id), _json(error_members(code, message, data)))


def error_members(code: int, message: str, data: Any = None) -> dict[str, Any]:
    """An error as it leaves: it may repeat words of anybody, and none of them may hide or steer anything."""
    error: dict[str, Any] = {"code": code, "message": clean_words(message)}
    return error if data is None else error | {"data": cleaned(data)}


class _ErrorWithoutData(msgspec.Struct):
    code: int = INTERNAL_ERROR
    message: str = ""


def _error_without_data(error: bytes) -> dict[str, Any]:
    return msgspec.structs.asdict(msgspec.json.decode(error, type=_ErrorWithoutData))


def on_one_line(text: bytes) -> bytes:
    """The same JSON without line breaks, which end a message on stdio; inside strings they are always escaped."""
    return text.translate(_SPACES) if b"\n" in text or b"\r" in text else text


def line_of(*parts: Json) -> bytes:
    """The pieces of one message as one line. JSON of others may have line breaks, each of which would begin a new message."""
    line = b"".join((*parts, b"\n"))
    is_one = line.find(b"\n") == len(line) - 1 and b"\r" not in line
    return line if is_one else on_one_line(line[:-1]) + b"\n"


def rpc_error(error: bytes) -> RpcError:
    """The exception for an `error` member, whatever shape it has; the `data` of a huge one is left out."""
    try:
        data = msgspec.json.decode(error) if len(error) <= _MOST_MENDED_BYTES else _error_without_data(error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return RpcError(INTERNAL_ERROR, "the server answered with a malformed error")
    code = data.get("code")
    return RpcError(code if type(code) is int else INTERNAL_ERROR, str(data.get("message", "")), data.get("data"))


_SPACES = bytes.maketrans(b"\r\n", b"  ")
_json = msgspec.json.Encoder().encode
