"""token: tokens for single programs are made, listed and revoked."""

from __future__ import annotations

import pytest

from tests.cli.machine import Machine
from toolcrib.model.named_token import id_in


def test_a_token_is_shown_once_and_kept_as_a_hash(machine: Machine) -> None:
    made = machine.run("token", "create", "ci", "--servers", "git*,mail", "--tags", "safe", "--read-only")
    token = made.out.strip()
    listed = machine.run("token", "list")
    whole = machine.run("token", "list", "--json")

    assert id_in(token)
    assert token not in made.err
    assert "only time" in made.err
    assert token not in listed.out + whole.out
    assert "git*, mail" in listed.out
    assert token[14:] not in machine.paths.named_tokens.read_text()
    [kept] = whole.json["tokens"]
    assert (kept["name"], kept["servers"], kept["tags"], kept["readOnly"]) == ("ci", ["git*", "mail"], ["safe"], True)
    assert machine.paths.named_tokens.stat().st_mode & 0o077 == 0


def test_a_token_for_what_is_not_there_says_so(machine: Machine) -> None:
    machine.configure("""
discovery:
  servers: {github: {command: x}}
  toolRules: [{pattern: ['*'], tags: [safe]}]
""")
    made = machine.run("token", "create", "ci", "--servers", "githb,git*", "--tags", "save,safe")

    assert made.code == 0
    assert "no server is called 'githb' now; did you mean 'github'?" in made.err
    assert "no rule gives the tag 'save' now; did you mean 'safe'?" in made.err
    assert "'git*'" not in made.err


def test_a_profile_that_is_not_there_is_no_mistake_of_the_file(machine: Machine) -> None:
    file = machine.configure("profiles: {work: {readOnly: true}}")

    refused = machine.run("token", "create", "ci", "--profile", "wrok")

    assert refused.code == 2
    assert refused.err.splitlines() == [
        "toolcrib: --profile: there is no profile 'wrok'; did you mean 'work'?",
        f"Profiles are written in {file}.",
    ]


def test_a_token_that_is_not_there_is_not_found(machine: Machine) -> None:
    machine.run("token", "create", "nightly")

    refused = machine.run("token", "revoke", "nightli")

    assert (refused.code, "Did you mean: nightly?" in refused.err) == (2, True)
    assert machine.run("token", "revoke", "ci", "--json").json["error"]["code"] == "TOKEN_NOT_FOUND"


@pytest.mark.parametrize(
    ("given", "told"), [("90d", "90 days"), ("12h", "12 hours"), ("1d", "1 day"), ("30m", "30 minutes")]
)
def test_a_new_token_ends_when_it_was_said_to(machine: Machine, given: str, told: str) -> None:
    machine.run("token", "create", "ci", "--expires", given)

    assert f"in {told} " in machine.run("token", "list").out


def test_a_revoked_token_is_gone_and_its_name_is_free(machine: Machine) -> None:
    first = machine.run("token", "create", "ci", "--json").json
    taken = machine.run("token", "create", "ci")
    revoked = machine.run("token", "revoke", "ci")
    second = machine.run("token", "create", "ci", "--expires", "90d", "--json").json
    by_id = machine.run("token", "revoke", second["id"], "--json")
    again = machine.run("token", "revoke", "ci")

    assert (taken.code, revoked.code, again.code) == (1, 0, 2)
    assert "already" in taken.err
    assert first["token"] != second["token"]
    assert second["expiresAt"] - second["createdAt"] == pytest.approx(90 * 86_400)
    assert [one["name"] for one in by_id.json["revoked"]] == ["ci"]
    assert "no tokens" in machine.run("token", "list").out


@pytest.mark.parametrize(
    "wrong",
    [
        ("../ci",),
        ("",),
        ("ci", "--expires", "soon"),
        ("ci", "--expires", "2001-01-01"),
        ("ci", "--servers", ","),
        ("ci", "--profile", "no-such"),
    ],
)
def test_a_token_that_would_mean_something_else_is_not_made(machine: Machine, wrong: tuple[str, ...]) -> None:
    refused = machine.run("token", "create", *wrong)

    assert refused.code != 0
    assert refused.out == ""
    assert not machine.paths.named_tokens.exists()
