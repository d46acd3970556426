"""JSON Web Signatures with Ed25519, and nothing else of that standard: one algorithm, one key per id."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from toolcrib.errors import PeerRefused
from toolcrib.peers.identity import Identity, is_signed_by

_ALGORITHM = "EdDSA"


def canonical(value: object) -> bytes:
    """The one way to write a JSON value; raises ValueError for what JSON or UTF-8 can't hold."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def strict_object(text: bytes) -> dict[str, Any]:
    """A JSON object in which no member is given twice; raises ValueError for anything else."""
    try:
        value = json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - whatever is wrong with the text is a ValueError
    return value


def signature_of(payload: Mapping[str, Any], identity: Identity, kind: str) -> dict[str, str]:
    """The signature of an object that is sent beside it."""
    head = to_base64(canonical(_head(identity, kind)))
    signed = identity.sign(f"{head}.{to_base64(canonical(payload))}".encode())
    return {"protected": head, "signature": to_base64(signed)}


def check_signature(payload: Mapping[str, Any], protected: str, signature: str, kind: str) -> str:
    """The id of whoever signed the object; raises PeerRefused where nobody did."""
    return _checked(protected, to_base64(canonical(payload)), signature, kind)


def compact(payload: Mapping[str, Any], identity: Identity, kind: str) -> str:
    """An object with its signature, as one word."""
    text = f"{to_base64(canonical(_head(identity, kind)))}.{to_base64(canonical(payload))}"
    return f"{text}.{to_base64(identity.sign(text.encode()))}"


def read_compact(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Who signed a word, and the object in it; raises PeerRefused where it can't be believed."""
    parts = text.split(".")
    if len(parts) != 3:
        raise _unsigned("it has no signature")
    signer = _checked(parts[0], parts[1], parts[2], kind)
    try:
        return signer, strict_object(from_base64(parts[1]))
    except ValueError:
        raise _unsigned("what was signed can't be read") from None


def to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    """Raises ValueError for anything but base64url without padding, written the one way."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if to_base64(data) != text:
        raise ValueError("some of its bits mean nothing")
    return data


def _head(identity: Identity, kind: str) -> dict[str, str]:
    return {"alg": _ALGORITHM, "typ": kind, "kid": identity.peer_id}


def _checked(protected: str, payload: str, signature: str, kind: str) -> str:
    try:
        head, signed = strict_object(from_base64(protected)), from_base64(signature)
    except ValueError:
        raise _unsigned("its signature can't be read") from None
    signer = head.get("kid")
    # Whatever else a head may hold (another key, extensions that must be understood) is for other programs.
    if head.keys() != {"alg", "typ", "kid"} or (head["alg"], head["typ"]) != (_ALGORITHM, kind):
        raise _unsigned("its signature is of another kind")
    if not isinstance(signer, str) or not is_signed_by(signer, signed, f"{protected}.{payload}".encode()):
        raise PeerRefused("its signature is wrong", reason="signature")
    return signer


def _without_doubles(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a member is given twice")
    return found


def _refuse_constant(_: str) -> None:
    raise ValueError("NaN and Infinity are no JSON")


def _unsigned(why: str) -> PeerRefused:
    return PeerRefused(why, reason="unsigned")
