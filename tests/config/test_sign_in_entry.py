"""The `oauth` of an entry."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.config.entries import EntryReader
from toolcrib.config.written_entry import entry_of
from toolcrib.model.server import Origin
from toolcrib.model.sign_in_options import SignInOptions

URL = "https://a.example/mcp"


def read(oauth: Any) -> tuple[EntryReader, Any]:
    reader = EntryReader({"url": URL, "oauth": oauth}, "servers.a", Origin())
    return reader, reader.spec("a")


@pytest.mark.parametrize(
    ("written", "options"),
    [
        (None, SignInOptions()),
        (True, SignInOptions()),
        ({}, SignInOptions()),
        (False, SignInOptions(is_allowed=False)),
        ({"account": "work", "callbackPort": 8667}, SignInOptions(account="work", callback_port=8667)),
        ({"scopes": "  read   write "}, SignInOptions(scopes="read write")),
        ({"scopes": ["read", "write"]}, SignInOptions(scopes="read write")),
        ({"clientId": "us", "clientSecret": "${S}"}, SignInOptions(client_id="us", client_secret="${S}")),
        (
            {"grant": "client_credentials", "clientId": "us", "clientSecret": "${S}", "issuer": "https://i.example"},
            SignInOptions(grant="client_credentials", client_id="us", client_secret="${S}", issuer="https://i.example"),
        ),
        (
            {
                "grant": "client_credentials",
                "clientId": "us",
                "privateKey": "${K}",
                "signingAlgorithm": "ES256",
                "issuer": "https://i.example",
                "resource": "urn:x",
            },
            SignInOptions(
                grant="client_credentials",
                client_id="us",
                private_key="${K}",
                signing_algorithm="ES256",
                issuer="https://i.example",
                resource="urn:x",
            ),
        ),
    ],
)
def test_what_an_entry_says_is_read_and_written_as_it_was_meant(written: Any, options: SignInOptions) -> None:
    reader, spec = read(written)
    assert (reader.problems, spec.oauth) == ([], options)
    again = EntryReader(entry_of(spec), "servers.a", Origin()).spec("a")
    assert again is not None
    assert again.oauth == options


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("yes", "servers.a.oauth"),
        ({"grant": "password"}, "servers.a.oauth.grant"),
        ({"grant": "client_credentials", "clientId": "us", "clientSecret": "s"}, "servers.a.oauth.grant"),
        ({"clientId": "us", "privateKey": "${K}"}, "servers.a.oauth.privateKey"),
        ({"signingAlgorithm": "HS256"}, "servers.a.oauth.signingAlgorithm"),
        ({"callbackPort": 70_000}, "servers.a.oauth.callbackPort"),
        ({"callbackPort": "many"}, "servers.a.oauth.callbackPort"),
        ({"clientSecret": 7}, "servers.a.oauth.clientSecret"),
    ],
)
def test_what_can_not_be_used_is_a_problem_of_the_entry(written: Any, place: str) -> None:
    reader, spec = read(written)
    assert spec is None
    assert [problem.where for problem in reader.problems] == [place]


def test_an_unknown_key_is_named_with_the_nearest_known_one() -> None:
    reader, spec = read({"clientid": "us"})
    assert spec is not None
    assert len(reader.notes) == 1
    assert "clientId" in reader.notes[0]


def test_a_secret_is_not_in_the_repr_of_an_entry() -> None:
    for key in ("clientSecret", "privateKey"):
        _, spec = read({"clientId": "us", "grant": "client_credentials", "issuer": "x", key: "plain-secret-91af"})
        assert spec is not None
        assert "plain-secret" not in repr(spec)


def test_two_accounts_on_one_address_are_two_servers_and_anything_else_is_one() -> None:
    keys = [read(oauth)[1].launch_key for oauth in (None, {"scopes": "read"}, {"account": "work"})]
    assert keys[0] == keys[1] != keys[2]
