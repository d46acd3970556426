from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.peers.cards import GARAGE, KITCHEN, NOW
from toolcrib.errors import PeerRefused
from toolcrib.peers.call_proof import caller_of_proof, proof_for
from toolcrib.peers.signatures import compact

PROOF = proof_for(GARAGE, KITCHEN.peer_id, "sha256-abc", NOW)


def caller(text: str, **more: Any) -> str:
    return caller_of_proof(text, **{"own_id": KITCHEN.peer_id, "own_hash": "sha256-abc", "now": NOW, **more})


def reason(text: str, **more: Any) -> str:
    with pytest.raises(PeerRefused) as refused:
        caller(text, **more)
    return refused.value.reason


def test_a_proof_is_good_for_one_server_and_a_minute() -> None:
    assert caller(PROOF) == GARAGE.peer_id
    # Clocks may differ by five minutes.
    assert caller(PROOF, now=NOW + 359) == GARAGE.peer_id
    assert caller(PROOF, now=NOW - 299) == GARAGE.peer_id
    assert reason(PROOF, now=NOW + 361) == "clock"
    assert reason(PROOF, now=NOW - 301) == "clock"
    assert reason(PROOF, own_id=GARAGE.peer_id) == "audience"
    assert reason(PROOF, own_hash="sha256-other") == "audience"


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"iss": KITCHEN.peer_id}, "audience"),
        ({"exp": int(NOW) + 3600}, "clock"),
        ({"exp": int(NOW) - 1}, "clock"),
        ({"iat": True}, "clock"),
        ({"iat": 10**400, "exp": 10**400}, "clock"),
        ({"iat": -1, "exp": -1}, "clock"),
        ({"iat": "now"}, "clock"),
    ],
)
def test_what_a_proof_claims_is_checked(claims: dict[str, Any], expected: str) -> None:
    given = {"iss": GARAGE.peer_id, "aud": KITCHEN.peer_id, "cth": "sha256-abc", "iat": int(NOW), "exp": int(NOW) + 60}

    assert caller(compact(given, GARAGE, "peer-call+jws")) == GARAGE.peer_id
    assert reason(compact({**given, **claims}, GARAGE, "peer-call+jws")) == expected
    assert reason(compact(given, GARAGE, "agent-card+jws")) == "unsigned"


@given(st.text(max_size=100))
def test_any_other_word_is_refused(text: str) -> None:
    with pytest.raises(PeerRefused):
        caller(text)


def test_a_word_without_end_is_not_looked_into() -> None:
    assert reason(PROOF + "A" * 3_000) == "oversize"
