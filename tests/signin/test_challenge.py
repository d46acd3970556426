"""What a WWW-Authenticate header says."""

from __future__ import annotations

import pytest

from toolcrib.signin.challenge import Challenge, is_insufficient_scope, joined_scopes


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Bearer", Challenge()),
        (
            'Bearer resource_metadata="https://a.example/x", scope="read write", error="invalid_token"',
            Challenge("invalid_token", "read write", "https://a.example/x"),
        ),
        ("bearer scope=read,error=insufficient_scope", Challenge("insufficient_scope", "read")),
        ('Bearer error="first", error="second"', Challenge("first")),
        ('Bearer xerror="no", realm="scope=admin"', Challenge()),
        ('Basic realm="x"', Challenge(wants_token=False)),
        ('Basic realm="x", Bearer scope="read"', Challenge(scope="read")),
        ('DPoP algs="ES256"', Challenge()),
    ],
)
def test_the_parameters_of_a_challenge_are_found(header: str, challenge: Challenge) -> None:
    found = Challenge.of(header)
    # What stands within the text of a realm may be read as a parameter; it can only ask for more scopes.
    assert (found.error, found.resource_metadata, found.wants_token) == (
        challenge.error,
        challenge.resource_metadata,
        challenge.wants_token,
    )
    if "realm" not in header:
        assert found.scope == challenge.scope


def test_only_a_403_that_says_so_is_a_matter_of_scopes() -> None:
    assert is_insufficient_scope(403, 'Bearer error="insufficient_scope", scope="write"')
    assert not is_insufficient_scope(403, "Bearer")
    assert not is_insufficient_scope(401, 'Bearer error="insufficient_scope"')


def test_scopes_are_joined_each_once() -> None:
    assert joined_scopes("read write", "", "write admin") == "read write admin"
