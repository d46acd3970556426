"""What a peer shows with each request: a word that it signed for this server and this minute."""

from __future__ import annotations

from typing import Any

from toolcrib.errors import PeerRefused
from toolcrib.peers.clocks import LATEST, check_clock
from toolcrib.peers.identity import Identity
from toolcrib.peers.signatures import compact, read_compact

# When to make a new one; it is good for twice as long.
RENEW_SECONDS = 30
_GOOD_SECONDS = 60
_KIND = "peer-call+jws"
_MOST_CHARACTERS = 2_000


def proof_for(identity: Identity, server_id: str, certificate_hash: str, now: float) -> str:
    """Good for calls of this server, on connections with this certificate, for a minute.

    Nobody else can use it: a server that was given it has another id, one that relays it another certificate.
    """
    made = int(now)
    claims = {
        "iss": identity.peer_id,
        "aud": server_id,
        "cth": certificate_hash,
        "iat": made,
        "exp": made + _GOOD_SECONDS,
    }
    return compact(claims, identity, _KIND)


def caller_of_proof(text: str, *, own_id: str, own_hash: str, now: float) -> str:
    """The id of the peer that calls us; raises PeerRefused where that is not proved."""
    if len(text) > _MOST_CHARACTERS:
        raise PeerRefused("the proof is too long", reason="oversize")
    caller, claims = read_compact(text, _KIND)
    if (claims.get("iss"), claims.get("aud"), claims.get("cth")) != (caller, own_id, own_hash):
        raise PeerRefused("the proof was made for another server", reason="audience")
    made, ends = _time(claims, "iat"), _time(claims, "exp")
    if not made <= ends <= made + _GOOD_SECONDS:
        raise PeerRefused("the proof is good for too long", reason="clock")
    check_clock(made, ends, now)
    return caller


def _time(claims: dict[str, Any], name: str) -> int:
    value = claims.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LATEST:
        raise PeerRefused("the proof has no time", reason="clock")
    return value
