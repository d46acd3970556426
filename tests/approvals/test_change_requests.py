from __future__ import annotations

import itertools

import pytest

from tests.fakes import Clock, spec, tool
from toolcrib.approvals.approvals import EXPIRY_SECONDS, MOST_OVER, Approvals
from toolcrib.approvals.change import Change
from toolcrib.approvals.change_requests import AGREED, REFUSED, ask_about
from toolcrib.approvals.shown_launch import shown_launch
from toolcrib.model.server import RemoteLaunch, StdioLaunch
from toolcrib.storage.memory_capabilities import MemoryCapabilities

READ = Change("tool", "read", "changed", "f1", tool("read"), '{"name":"read"}')
SEND = Change("tool", "send", "new", "f2", tool("send"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def approvals(clock: Clock) -> Approvals:
    ids = itertools.count()
    return Approvals(MemoryCapabilities(), now=clock, new_id=lambda: f"apr-{next(ids)}")


def states(approvals: Approvals) -> list[tuple[str, str]]:
    return [(one.id, one.state) for one in approvals.all()]


def test_a_server_that_changes_again_is_asked_about_once(approvals: Approvals) -> None:
    ask_about(approvals, spec("notes"), "key", [READ])
    ask_about(approvals, spec("notes"), "key", [READ, SEND])

    (waiting,) = approvals.all()
    assert (waiting.changes, waiting.subject, waiting.source) == ((READ, SEND), "tools", "reading")


def test_a_request_that_nobody_decided_is_made_anew_while_the_change_lasts(approvals: Approvals, clock: Clock) -> None:
    ask_about(approvals, spec("notes"), "key", [READ])
    clock.advance(EXPIRY_SECONDS)
    ask_about(approvals, spec("notes"), "key", [READ])

    assert states(approvals) == [("apr-0", "expired"), ("apr-1", "pending")]


def test_a_server_that_keeps_changing_leaves_few_requests_behind(approvals: Approvals) -> None:
    for _ in range(MOST_OVER + 10):
        ask_about(approvals, spec("notes"), "key", [READ])
        ask_about(approvals, spec("notes"), "key", [])
    waiting = ask_about(approvals, spec("notes"), "key", [READ])

    assert waiting is not None
    assert (waiting.version, len(approvals.all())) == (MOST_OVER + 11, MOST_OVER + 1)
    assert approvals.get("notes") == waiting


def test_a_request_that_is_withdrawn_says_why(approvals: Approvals) -> None:
    reasons = []
    for done in (AGREED, REFUSED):
        asked = ask_about(approvals, spec("notes"), "key", [READ])
        ask_about(approvals, spec("notes"), "key", [], done)
        assert asked is not None
        decision = approvals.get(asked.id).decision
        reasons.append(decision and decision.reason)

    assert reasons == [AGREED, REFUSED]


def test_entries_with_two_tokens_for_one_server_are_asked_about_apart(approvals: Approvals) -> None:
    ask_about(approvals, spec("work"), "key", [READ])
    ask_about(approvals, spec("home"), "key", [])
    assert states(approvals) == [("apr-0", "pending")]

    ask_about(approvals, spec("work"), "key", [])
    assert states(approvals) == [("apr-0", "superseded")]


def test_no_credential_of_an_entry_is_kept_with_a_request(approvals: Approvals) -> None:
    given = {"NOTES_TOKEN": "canary", "FOLDER": "canary", "USER_KEY": "${USER_KEY}"}
    launch = StdioLaunch("npx", ("--api-key", "sk-live-0123456789abcdef"), given)
    asked = ask_about(approvals, spec("notes", launch=launch), "key", [READ])

    assert asked is not None
    assert isinstance(asked.launch, StdioLaunch)
    assert asked.launch.env == {"NOTES_TOKEN": "***", "FOLDER": "***", "USER_KEY": "${USER_KEY}"}
    assert "sk-live" not in " ".join(asked.launch.args)


def test_a_request_shows_all_that_what_was_agreed_to_is_bound_to(approvals: Approvals) -> None:
    local = StdioLaunch("npx", ("notes",), {"A": "b"}, env_file=".env", pass_env=("LANG",), cwd="/srv/notes")
    remote = RemoteLaunch("https://notes.example.com/mcp", {"Authorization": "Bearer canary", "X-Team": "canary"})

    first = ask_about(approvals, spec("notes", launch=local), "key", [READ])
    second = ask_about(approvals, spec("mail", launch=remote), "other", [READ])

    assert first is not None
    assert second is not None
    assert shown_launch(first.launch) == {
        "command": "npx",
        "args": ["notes"],
        "env": {"A": "***"},
        "envFile": ".env",
        "passEnv": ["LANG"],
        "cwd": "/srv/notes",
    }
    assert shown_launch(second.launch)["headers"] == {"Authorization": "Bearer ***", "X-Team": "***"}


def test_a_later_approval_takes_the_place_of_an_earlier_one(approvals: Approvals) -> None:
    for change in (READ, SEND):
        asked = ask_about(approvals, spec("notes"), "key", [change])
        assert asked is not None
        approvals.approve(asked.id, "ann", expected=asked)

    assert states(approvals) == [("apr-0", "superseded"), ("apr-1", "approved")]
    assert approvals.approved() == {}  # no server was proposed
