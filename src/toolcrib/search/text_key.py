"""Texts known by a few bytes, the same in every process."""

from __future__ import annotations

import hashlib

TEXT_HASH_BYTES = 16
_KEY_BYTES = 8


def text_hash(text: str) -> bytes:
    """What a vector is kept under: texts that read the same have the same vector."""
    return _digest(text, TEXT_HASH_BYTES)


def text_key(text: str) -> int:
    """A number for a term or a name; two in a billion billion share one."""
    return int.from_bytes(_digest(text, _KEY_BYTES), "little")


def _digest(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
