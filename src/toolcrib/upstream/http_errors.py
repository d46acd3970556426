"""What went wrong over HTTP, said in our own errors: httpx2 exceptions and HTTP statuses come in."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx2
from msgspec import UNSET

from toolcrib.errors import AuthenticationFailed, RateLimited, ServerConnectionError, ToolcribError
from toolcrib.masking.entries import masked_address
from toolcrib.model.clean_text import clean
from toolcrib.upstream.link import SessionExpired
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, BadMessage, Message, RpcError, decode, rpc_error

_NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)
# No answer in time, or a connection that was cut.
_MAY_PASS = (
    httpx2.TimeoutException,
    httpx2.ReadError,
    httpx2.WriteError,
    httpx2.CloseError,
    httpx2.RemoteProtocolError,
)
_CHECK_NETWORK = "Check the network, a VPN, and HTTPS_PROXY and NO_PROXY."
_SHOWN_CHARACTERS = 300
_UNKNOWN_SESSION = -32000


def origin_of(url: httpx2.URL) -> str:
    """Scheme, host and port: all of a URL that is safe to show, since paths and queries may carry keys."""
    return str(httpx2.URL(scheme=url.scheme, host=url.host, port=url.port))


def token_variable(server: str) -> str:
    """The environment variable in which a person puts this server's token."""
    return re.sub(r"[^A-Za-z0-9]", "_", server.partition("/")[0]).upper() + "_MCP_TOKEN"


@contextmanager
def translated(server: str, url: httpx2.URL) -> Iterator[None]:
    """Turn every httpx2 failure inside into a ServerConnectionError."""
    try:
        yield
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as problem:
        raise transport_error(server, url, problem) from problem


def transport_error(server: str, url: httpx2.URL, problem: Exception) -> ServerConnectionError:
    """The error for a request that got no HTTP answer, or only part of one."""
    what, hint = _explain(url, problem)
    sent = not isinstance(problem, _NEVER_SENT)
    may_pass = isinstance(problem, _MAY_PASS) or any(isinstance(c, ConnectionResetError) for c in _causes(problem))
    message = f"{server} at {origin_of(url)}: {what}"
    return ServerConnectionError(message, server=server, sent=sent, retryable=may_pass, hint=hint)


def _explain(url: httpx2.URL, problem: Exception) -> tuple[str, str]:
    if isinstance(problem, httpx2.ConnectError):
        return _explain_connect(url, problem)
    for kind, what, hint in _EXPLANATIONS:
        if isinstance(problem, kind):
            return what, hint
    return f"the connection failed ({type(problem).__name__})", _CHECK_NETWORK


# The text of the exceptions is left out: h11 quotes the header it refuses, which may be a token.
_EXPLANATIONS: tuple[tuple[type[Exception], str, str], ...] = (
    (httpx2.ConnectTimeout, "no connection in time", _CHECK_NETWORK),
    (httpx2.PoolTimeout, "too many connections are open", "Wait for running calls to end."),
    (httpx2.TimeoutException, "no answer in time", _CHECK_NETWORK),
    (httpx2.ProxyError, "the proxy refused the connection", "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY."),
    (httpx2.UnsupportedProtocol, "not an http or https address", "Correct the url of the entry."),
    (
        httpx2.LocalProtocolError,
        "the request could not be written",
        "Check the headers of the entry for stray characters.",
    ),
    (
        httpx2.RemoteProtocolError,
        "the connection broke or the answer is not HTTP",
        "Check the url, and http against https.",
    ),
    (
        httpx2.DecodingError,
        "the answer is compressed in a way that cannot be read",
        "Report this to the server's author.",
    ),
    (httpx2.NetworkError, "the connection broke before the answer was complete", "Try again."),
)


def _explain_connect(url: httpx2.URL, problem: Exception) -> tuple[str, str]:
    reason = type(problem).__name__
    for cause in _causes(problem):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({cause.strerror})", "Set SSL_CERT_FILE to your CA bundle."
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed ({cause.strerror})", "Check whether this port speaks http rather than https."
        if isinstance(cause, socket.gaierror):
            return (
                f"the host name {url.host} is not known",
                "Check the spelling of the url, the network, and HTTPS_PROXY.",
            )
        if isinstance(cause, ConnectionRefusedError):
            return "the connection was refused", "Start the server, or correct the port in its url."
        if isinstance(cause, OSError):
            reason = cause.strerror or reason
    return f"no connection ({reason})", _CHECK_NETWORK


def _causes(problem: BaseException) -> Iterator[BaseException]:
    yield problem
    for inner in problem.exceptions if isinstance(problem, BaseExceptionGroup) else ():
        yield from _causes(inner)
    further = problem.__cause__ or problem.__context__
    if further is not None:
        yield from _causes(further)


def status_error(
    server: str, response: httpx2.Response, body: bytes, *, has_session: bool, now: float
) -> ToolcribError | RpcError | SessionExpired:
    """The error for an HTTP status that is not success; `now` is Unix time, for a Retry-After date."""
    status = response.status_code
    answer = _answer_in(body)
    error = None if answer.error is UNSET else rpc_error(bytes(answer.error))
    if status in (401, 403):
        return _refused(server, response, error)
    if status == 429:
        wait = retry_after_seconds(response.headers, now)
        return RateLimited(f"{server} limits how often it can be called", retry_after_seconds=wait, hint=_when(wait))
    # With an id it answers our request, and may come from the tool itself: it never means that the session is lost.
    is_answer = error is not None and answer.id not in (None, UNSET)
    if status >= 500 and not (status == 500 and is_answer):
        return unexpected_status(server, response, retryAfterSeconds=retry_after_seconds(response.headers, now))
    if has_session and (status == 404 or (not is_answer and _forgot_session(status, error))):
        return SessionExpired(f"{server} no longer knows the session")
    return _turned_away(server, response, error, has_session=has_session)


def _turned_away(
    server: str, response: httpx2.Response, error: RpcError | None, *, has_session: bool
) -> ToolcribError | RpcError:
    status = response.status_code
    if error is not None and status >= 400:
        return error
    if status in (404, 405) and not has_session:
        return RpcError(METHOD_NOT_FOUND, f"{server} answered {_phrase(status)}")
    return unexpected_status(server, response)


def _refused(server: str, response: httpx2.Response, error: RpcError | None) -> AuthenticationFailed:
    variable = token_variable(server)
    if response.status_code == 403:
        hint = f"The credentials of {server} do not allow this: give {variable} more rights, or use another token."
    elif "authorization" in response.request.headers:
        hint = f"The token was not accepted: renew {variable} or the Authorization header of the entry."
    else:
        hint = f"Set {variable}, or give the entry an Authorization header."
    challenge = _shown(response.headers.get("www-authenticate", ""))
    message = f"{server} answered {_phrase(response.status_code)}"
    told = {"rpcCode": error.code, "data": error.data} if error is not None else {}
    return AuthenticationFailed(
        f"{message}: {challenge}" if challenge else message,
        server=server,
        hint=hint,
        status=response.status_code,
        **told,
    )


def unexpected_status(server: str, response: httpx2.Response, **details: float | None) -> ServerConnectionError:
    """A status nothing better is known for; the request had been read, so its outcome is open."""
    status = response.status_code
    if response.next_request is not None:
        location = response.next_request.url.copy_with(userinfo=b"", query=None, fragment=None)
        what = f"it redirects to {masked_address(str(location))}"
        hint = "Use that address in the entry, if you trust it."
    elif status < 300:
        what, hint = f"it answered {_phrase(status)} without a result", "Check that the url is an MCP endpoint."
    elif status < 500:
        what, hint = f"it answered {_phrase(status)}", "Check that the url is an MCP endpoint."
    else:
        what, hint = f"it answered {_phrase(status)}", "The server has a problem of its own: try again later."
    message = f"{server} at {origin_of(response.request.url)}: {what}"
    return ServerConnectionError(
        message, server=server, sent=True, retryable=status == 503, hint=hint, status=status, **details
    )


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """The wait a Retry-After asks for, in seconds or as a date, which is held against the server's clock if given."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    until = _unix_time(value)
    if until is None:
        return None
    reference = _unix_time(headers.get("date", ""))
    return max(0.0, until - (now if reference is None else reference))


def _unix_time(http_date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(http_date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _when(wait: float | None) -> str:
    return "Try again later." if wait is None else f"Try again in {wait:g} s."


def _forgot_session(status: int, error: RpcError | None) -> bool:
    # Servers built after the TypeScript examples answer an unknown session with 400, not 404.
    if status != 400 or error is None or error.code != _UNKNOWN_SESSION:
        return False
    return "session" in error.message.lower()


def _answer_in(body: bytes) -> Message:
    try:
        return decode(body)
    except BadMessage:
        return Message()


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _shown(text: str) -> str:
    shown = clean(text)
    if len(shown) <= _SHOWN_CHARACTERS:
        return shown
    # Between words: of a secret that was cut in two nobody could tell that it is one.
    return shown[:_SHOWN_CHARACTERS].rpartition(" ")[0]
