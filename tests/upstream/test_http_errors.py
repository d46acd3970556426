from __future__ import annotations

import inspect
import socket
import ssl

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.errors import AuthenticationFailed, RateLimited, ServerConnectionError
from toolcrib.upstream.http_errors import retry_after_seconds, status_error, token_variable, translated, transport_error
from toolcrib.upstream.link import SessionExpired
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, RpcError

URL = httpx2.URL("https://user:secret@example.test:8443/path-secret?key=query-secret")
NOON = 1_794_744_000.0  # 2026-11-15T12:00:00Z
RPC_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":[]}}}'


def answer(status: int, *, sent: dict[str, str] | None = None, **headers: str) -> httpx2.Response:
    request = httpx2.Request("POST", URL, headers=sent)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, headers=named, request=request)


def error_for(status: int, body: bytes = b"", *, has_session: bool = False, **headers: str) -> Exception:
    return status_error("my-server", answer(status, **headers), body, has_session=has_session, now=NOON)


def because(outer: Exception, cause: BaseException) -> Exception:
    outer.__cause__ = cause
    return outer


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_name_the_variable_to_set_and_what_the_server_said(status: int) -> None:
    error = error_for(status, RPC_ERROR, www_authenticate='Bearer error="invalid_token"')
    assert isinstance(error, AuthenticationFailed)
    assert error.details["status"] == status
    assert "MY_SERVER_MCP_TOKEN" in error.hint
    assert 'error="invalid_token"' in error.message


def test_a_token_that_was_sent_and_refused_is_to_be_renewed_and_never_shown() -> None:
    response = answer(401, sent={"Authorization": "Bearer top-secret"})
    error = status_error("x", response, b"bad token top-secret", has_session=False, now=NOON)
    assert isinstance(error, AuthenticationFailed)
    assert "renew" in error.hint
    assert "top-secret" not in error.hint + error.message


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT", "date": "Sun, 15 Nov 2026 12:00:20 GMT"}, 10.0),
        ({"retry-after": "Sun, 15 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after_seconds(headers, NOON) == wait


@given(st.text())
def test_any_retry_after_gives_a_wait_or_none(value: str) -> None:
    wait = retry_after_seconds({"retry-after": value, "date": value[::-1]}, NOON)
    assert wait is None or wait >= 0


def test_429_is_rate_limited_with_the_wait() -> None:
    error = error_for(429, retry_after="7")
    assert isinstance(error, RateLimited)
    assert error.retry_after_seconds == 7.0


@pytest.mark.parametrize("status", [500, 502, 503, 599])
def test_a_failing_server_is_a_connection_error_whose_outcome_is_open(status: int) -> None:
    error = error_for(status, RPC_ERROR, retry_after="3")
    assert isinstance(error, ServerConnectionError)
    assert error.sent
    assert error.details == {"status": status, "retryAfterSeconds": 3.0}


@pytest.mark.parametrize("status", [400, 404, 405, 422])
def test_a_json_rpc_error_in_a_4xx_is_that_error(status: int) -> None:
    error = error_for(status, RPC_ERROR)
    assert isinstance(error, RpcError)
    assert (error.code, error.data) == (-32022, {"supported": []})


@pytest.mark.parametrize("status", [404, 405])
def test_a_plain_404_or_405_without_a_session_reads_as_an_unknown_method(status: int) -> None:
    error = error_for(status, b"<html>")
    assert isinstance(error, RpcError)
    assert error.code == METHOD_NOT_FOUND


def test_404_with_a_session_means_the_session_is_gone() -> None:
    assert isinstance(error_for(404, RPC_ERROR, has_session=True), SessionExpired)


def test_400_that_speaks_of_the_session_means_it_is_gone_too() -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'
    assert isinstance(error_for(400, body, has_session=True), SessionExpired)
    assert isinstance(error_for(400, body, has_session=False), RpcError)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no such session in the calendar"}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"session must be a number"}}',
    ],
)
def test_400_of_a_tool_that_speaks_of_sessions_is_its_own_error(body: bytes) -> None:
    assert isinstance(error_for(400, body, has_session=True), RpcError)


@pytest.mark.parametrize(
    ("status", "has_session"), [(405, True), (400, False), (413, True), (304, False), (299, False)]
)
def test_any_other_status_is_a_connection_error_that_names_it(status: int, has_session: bool) -> None:
    error = error_for(status, b"what", has_session=has_session)
    assert isinstance(error, ServerConnectionError)
    assert str(status) in error.message


@pytest.mark.parametrize(
    ("cause", "word"),
    [
        (ConnectionRefusedError(111, "refused"), "refused"),
        (socket.gaierror(-2, "unknown"), "example.test"),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), "certificate"),
        (ssl.SSLError(1, "wrong version number"), "TLS"),
        (OSError(113, "No route to host"), "No route to host"),
        (ExceptionGroup("all failed", [OSError(1, "a"), ConnectionRefusedError(111, "b")]), "refused"),
    ],
)
def test_a_failed_connect_says_why_and_was_never_sent(cause: Exception, word: str) -> None:
    error = transport_error("x", URL, because(httpx2.ConnectError("failed"), because(OSError("all failed"), cause)))
    assert word in error.message
    assert error.hint
    assert not error.sent


@pytest.mark.parametrize(
    "kind", [httpx2.ReadError, httpx2.RemoteProtocolError, httpx2.ReadTimeout, httpx2.WriteTimeout]
)
def test_a_failure_after_the_request_left_says_so(kind: type[httpx2.RequestError]) -> None:
    assert transport_error("x", URL, kind("broken")).sent


def every_httpx2_failure() -> list[type[Exception]]:
    kinds = [kind for _, kind in inspect.getmembers(httpx2, inspect.isclass) if issubclass(kind, Exception)]
    return [kind for kind in kinds if issubclass(kind, httpx2.RequestError | httpx2.InvalidURL)]


@pytest.mark.parametrize("kind", every_httpx2_failure())
def test_every_failure_httpx2_knows_becomes_ours_and_shows_no_secret(kind: type[Exception]) -> None:
    with pytest.raises(ServerConnectionError) as caught, translated("x", URL):
        raise kind("header-secret")
    assert caught.value.hint
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("server", "variable"),
    [("github", "GITHUB_MCP_TOKEN"), ("my-server.2", "MY_SERVER_2_MCP_TOKEN"), ("acme/github", "ACME_MCP_TOKEN")],
)
def test_the_token_variable_is_named_after_the_server(server: str, variable: str) -> None:
    assert token_variable(server) == variable
