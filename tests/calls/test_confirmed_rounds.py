"""What a person agreed to once goes on once, soon, and with the same arguments."""

from __future__ import annotations

from typing import Any

from toolcrib.calls.confirmed_rounds import MOST_OPEN, OPEN_SECONDS, ConfirmedRounds
from toolcrib.model.asking import InputRound
from toolcrib.model.call import ToolCall

CONSENT = ("stdio:agent", "s-1", "launch", "delete_repo", "fingerprint")


def call(state: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall("github", "delete_repo", arguments, b"{}", round=None if state is None else InputRound(None, state))


def test_a_call_goes_on_once() -> None:
    rounds = ConfirmedRounds(lambda: 0.0)
    rounds.open(CONSENT, call(repo="site"), "s")

    assert not rounds.take(CONSENT, call(repo="site"))
    assert not rounds.take(CONSENT, call("s", repo="other"))
    assert not rounds.take(CONSENT, call("t", repo="site"))
    assert not rounds.take((*CONSENT[:-1], "another"), call("s", repo="site"))
    assert rounds.take(CONSENT, call("s", repo="site"))
    assert not rounds.take(CONSENT, call("s", repo="site"))


def test_a_call_that_goes_on_late_is_asked_about_anew() -> None:
    times = iter([0.0, OPEN_SECONDS + 1])
    rounds = ConfirmedRounds(lambda: next(times))
    rounds.open(CONSENT, call(), "s")

    assert not rounds.take(CONSENT, call("s"))


def test_of_very_many_the_oldest_are_asked_about_anew() -> None:
    rounds = ConfirmedRounds(lambda: 0.0)
    for number in range(MOST_OPEN + 1):
        rounds.open(CONSENT, call(number=number), "s")

    assert not rounds.take(CONSENT, call("s", number=0))
    assert rounds.take(CONSENT, call("s", number=1))
