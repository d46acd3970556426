"""What the answer of a token endpoint means: new tokens, the end of a sign-in, or only that it can't be had now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcrib.model.clean_text import clean
from toolcrib.signin.record import SignIn, Tokens

# The grant itself is refused: asking again would bring the same.
_GRANT_ENDED = "invalid_grant"
# We are not known there any more, and have to register again.
_UNKNOWN_TO_THEM = frozenset({"invalid_client", "unauthorized_client"})
_MOST_CHARACTERS = 200
_LONGEST_LIFE_SECONDS = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class Renewed:
    """New tokens were given; the sign-in that has them."""

    record: SignIn


@dataclass(frozen=True, slots=True)
class Ended:
    """The sign-in is over; the record that says so."""

    record: SignIn


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Nothing is known of the sign-in: the tokens are kept, and it is tried again later."""

    reason: str
    retry_after_seconds: float | None = field(default=None)


Verdict = Renewed | Ended | Unavailable


def judge(status: int, body: bytes, record: SignIn, now: float) -> Verdict:
    """The verdict on an answer to a request for new tokens."""
    said = object_in(body)
    if status == 200:
        tokens = tokens_in(said, now, before=record.tokens)
        if tokens is None:
            return Unavailable("it answered without a token")
        return Renewed(msgspec.structs.replace(record, tokens=tokens, ended_because=""))
    error = said.get("error") if 400 <= status < 500 else None
    if error == _GRANT_ENDED:
        return Ended(record.ended(_why(said, "the sign-in was withdrawn or has run out")))
    if error in _UNKNOWN_TO_THEM:
        return Ended(record.ended(_why(said, "this client is no longer known there"), forget_registration=True))
    return Unavailable(f"it answered {status}")


def tokens_in(said: Mapping[str, Any], now: float, *, before: Tokens | None = None) -> Tokens | None:
    """The tokens in an answer; what it leaves out stays as it was `before`."""
    access = said.get("access_token")
    if not isinstance(access, str) or not access or not access.isascii() or not access.isprintable():
        return None
    return Tokens(
        access=access,
        refresh=_text(said.get("refresh_token")) or (before.refresh if before is not None else ""),
        scope=_text(said.get("scope")) or (before.scope if before is not None else ""),
        given_at=now,
        expires_at=expiry(said.get("expires_in"), now),
    )


def expiry(stated: Any, now: float) -> float | None:
    """When it ends, of a number of seconds; some servers write it as text."""
    try:
        seconds = float(stated)
    except (TypeError, ValueError, OverflowError):
        return None
    # Nobody can mean a token that has ended already: such a number says nothing.
    return now + min(seconds, _LONGEST_LIFE_SECONDS) if seconds > 0 else None


def object_in(body: bytes) -> dict[str, Any]:
    """The JSON object in an answer; an empty one for anything else."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _why(said: Mapping[str, Any], usual: str) -> str:
    told = clean(_text(said.get("error_description")))[:_MOST_CHARACTERS].strip()
    return f"{usual} ({told})" if told else usual


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
