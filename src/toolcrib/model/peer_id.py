"""Peer ids as libp2p writes them: the public key itself, so that whoever knows the id can check a signature."""

from __future__ import annotations

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {character: value for value, character in enumerate(_ALPHABET)}
# An identity multihash of 36 bytes, which are a protobuf: an Ed25519 key of 32 bytes.
_HEAD = bytes((0x00, 0x24, 0x08, 0x01, 0x12, 0x20))
_KEY_BYTES = 32
_MOST_CHARACTERS = 60
# Points of small order, whatever their last bit: under these "keys" anybody can sign anything.
_NOBODYS_KEYS = frozenset(
    bytes.fromhex(text)
    for text in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)


def peer_id_of_key(public_key: bytes) -> str:
    """The id of whoever holds the private half of this Ed25519 key."""
    data = _HEAD + public_key
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def key_of_peer_id(peer_id: str) -> bytes | None:
    """The public key in an id, or None where the text is no id of an Ed25519 key."""
    if len(peer_id) > _MOST_CHARACTERS or not peer_id.isascii() or not set(peer_id) <= _DIGITS.keys():
        return None
    number = 0
    for character in peer_id:
        number = number * 58 + _DIGITS[character]
    if number.bit_length() > 8 * (len(_HEAD) + _KEY_BYTES):
        return None
    data = number.to_bytes(len(_HEAD) + _KEY_BYTES)
    key = data[len(_HEAD) :]
    is_whole = data.startswith(_HEAD) and peer_id_of_key(key) == peer_id
    return key if is_whole and not _is_nobodys(key) else None


def _is_nobodys(key: bytes) -> bool:
    return bytes((*key[:-1], key[-1] & 0x7F)) in _NOBODYS_KEYS


def is_peer_id(text: str) -> bool:
    return key_of_peer_id(text) is not None
