"""What the answer of a token endpoint means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcrib.signin.judge import Ended, Renewed, Unavailable, judge
from toolcrib.signin.record import Endpoints, Registration, SignIn, Tokens

NOW = 1_000_000.0
BEFORE = SignIn(
    resource="https://api.example.com/mcp",
    endpoints=Endpoints(token="https://auth.example.com/token"),
    registration=Registration(id="us"),
    tokens=Tokens(access="old", refresh="refresh", scope="read write", expires_at=NOW),
)


def verdict(status: int, said: Any) -> Any:
    return judge(status, said if isinstance(said, bytes) else json.dumps(said).encode(), BEFORE, NOW)


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        (
            {"access_token": "new", "refresh_token": "next", "expires_in": 60, "scope": "read"},
            Tokens(access="new", refresh="next", given_at=NOW, expires_at=NOW + 60, scope="read"),
        ),
        (
            {"access_token": "new"},
            Tokens(access="new", refresh="refresh", given_at=NOW, expires_at=None, scope="read write"),
        ),
        (
            {"access_token": "new", "expires_in": "60"},
            Tokens(access="new", refresh="refresh", given_at=NOW, expires_at=NOW + 60, scope="read write"),
        ),
        (
            {"access_token": "new", "expires_in": 10**400},
            Tokens(access="new", refresh="refresh", given_at=NOW, expires_at=None, scope="read write"),
        ),
        (
            {"access_token": "new", "expires_in": -5, "refresh_token": None},
            Tokens(access="new", refresh="refresh", given_at=NOW, expires_at=None, scope="read write"),
        ),
    ],
)
def test_new_tokens_take_the_place_of_the_old_and_what_is_left_out_stays(said: Any, tokens: Tokens) -> None:
    found = verdict(200, said)
    assert isinstance(found, Renewed)
    assert found.record.tokens == tokens


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (429, {"error": "slow_down"}),
        (500, {"error": "invalid_grant"}),
        (503, b"<html>"),
        (502, b""),
        (400, b"<html>bad request</html>"),
        (400, {"error": "temporarily_unavailable"}),
        (400, {"error": "invalid_request"}),
        (404, b"not here"),
        (200, b"<html>sign in to the wifi</html>"),
        (200, {"access_token": ""}),
        (200, {"access_token": "two\nlines"}),
        (200, {"access_token": 7}),
        (200, b"[" * 100_000),
        (302, b""),
    ],
)
def test_whatever_says_nothing_about_the_sign_in_leaves_it_as_it_was(status: int, said: Any) -> None:
    assert isinstance(verdict(status, said), Unavailable)


def test_a_refused_grant_ends_the_sign_in_and_keeps_who_we_are() -> None:
    found = verdict(400, {"error": "invalid_grant", "error_description": "revoked\x1b[2J by you"})
    assert isinstance(found, Ended)
    assert (found.record.tokens, found.record.registration) == (None, BEFORE.registration)
    assert "revoked" in found.record.ended_because
    assert "\x1b" not in found.record.ended_because


@pytest.mark.parametrize("error", ["invalid_client", "unauthorized_client"])
def test_a_client_that_is_unknown_there_registers_again(error: str) -> None:
    found = verdict(401, {"error": error})
    assert isinstance(found, Ended)
    assert (found.record.tokens, found.record.registration) == (None, None)
