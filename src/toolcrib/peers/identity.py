"""Who we are to peers: one Ed25519 key in a file that only its owner can read."""

from __future__ import annotations

import os
import platform
import secrets
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from toolcrib.errors import ConfigurationError, Problem
from toolcrib.files.made_once import make_once
from toolcrib.model.peer_id import key_of_peer_id, peer_id_of_key

_KEY_BYTES = 32


class Identity:
    """A key that never leaves this object as text; `peer_id` is its public half."""

    def __init__(self, key: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(key)
        self.peer_id = peer_id_of_key(self._key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"Identity({self.peer_id})"

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data)

    @classmethod
    def kept_at(cls, path: Path) -> Identity:
        """The key in this file, made on first need; ConfigurationError where others could have read or made it."""
        return cls(kept_key(path))


def kept_key(path: Path) -> bytes:
    """The private key in this file as 32 bytes, made on first need; only for a transport that makes its own key of it."""
    try:
        if not path.exists():
            make_once(path, secrets.token_bytes(_KEY_BYTES))
        return _read_key(path)
    except OSError as problem:
        raise _unusable(path, f"the key for peers can't be kept there: {problem}") from problem


def name_for_peers(stated: str) -> str:
    """What this machine calls itself: the stated name, else the first word of its host name."""
    return stated or platform.node().partition(".")[0] or "toolcrib"


def is_signed_by(peer_id: str, signature: bytes, data: bytes) -> bool:
    """Whether the holder of this id's key signed exactly these bytes."""
    key = key_of_peer_id(peer_id)
    if key is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _read_key(path: Path) -> bytes:
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _unusable(path, "expected a plain file")
        if os.name == "posix" and status.st_uid != os.getuid():
            raise _unusable(path, "the key for peers belongs to another user")
        if os.name == "posix" and status.st_mode & 0o077:
            raise _unusable(path, "others can read the key for peers; expected the mode 0600")
        key = file.read(_KEY_BYTES + 1)
    if len(key) != _KEY_BYTES:
        raise _unusable(path, f"expected a key of {_KEY_BYTES} bytes")
    return key


def _unusable(path: Path, message: str) -> ConfigurationError:
    hint = "Mend that, or delete the file: a new key is made then, and peers will not know this machine any more."
    return ConfigurationError([Problem("", message, str(path))], hint=hint)
