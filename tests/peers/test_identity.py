from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.errors import ConfigurationError
from toolcrib.model.peer_id import is_peer_id, key_of_peer_id, peer_id_of_key
from toolcrib.peers.identity import Identity, is_signed_by

# What py-libp2p 0.8.1 makes of the same key.
ID_OF_COUNTING_KEY = "12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB"


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "state" / "peer.key"

    with ThreadPoolExecutor(8) as several:
        ids = set(several.map(lambda _: Identity.kept_at(file).peer_id, range(8)))

    assert len(ids) == 1
    assert Identity.kept_at(file).peer_id in ids
    assert file.stat().st_size == 32
    assert os.name != "posix" or stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == ["peer.key"]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "peer.key"
    Identity.kept_at(file)
    file.chmod(0o640)

    with pytest.raises(ConfigurationError, match=r"peer\.key.*others can read"):
        Identity.kept_at(file)


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
def test_a_file_of_another_size_is_no_key(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "peer.key"
    file.write_bytes(content)
    file.chmod(0o600)

    with pytest.raises(ConfigurationError, match="32 bytes"):
        Identity.kept_at(file)


def test_a_folder_in_the_place_of_the_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "peer.key").mkdir()

    with pytest.raises(ConfigurationError, match=r"peer\.key"):
        Identity.kept_at(tmp_path / "peer.key")


def test_the_id_is_the_one_libp2p_makes_of_the_same_key() -> None:
    identity = Identity(bytes(range(32)))

    assert identity.peer_id == ID_OF_COUNTING_KEY
    assert repr(identity) == f"Identity({ID_OF_COUNTING_KEY})"


# Not those few of which almost all bytes are the same: they are nobody's.
@given(st.binary(min_size=32, max_size=32).filter(lambda key: len(set(key[1:31])) > 1))
def test_an_id_holds_its_key(key: bytes) -> None:
    assert key_of_peer_id(peer_id_of_key(key)) == key


@given(
    st.one_of(st.text(max_size=70), st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", max_size=70))
)
def test_any_other_text_is_no_id(text: str) -> None:
    assert not is_peer_id(text)


@pytest.mark.parametrize(
    "text", ["1" + ID_OF_COUNTING_KEY, ID_OF_COUNTING_KEY[:-1], ID_OF_COUNTING_KEY + "1", " " + ID_OF_COUNTING_KEY]
)
def test_nearly_an_id_is_none(text: str) -> None:
    assert not is_peer_id(text)


def test_only_the_holder_of_the_key_can_sign() -> None:
    signed = Identity(b"a" * 32).sign(b"words")

    assert is_signed_by(Identity(b"a" * 32).peer_id, signed, b"words")
    assert not is_signed_by(Identity(b"b" * 32).peer_id, signed, b"words")
    assert not is_signed_by(Identity(b"a" * 32).peer_id, signed, b"other words")
    assert not is_signed_by(Identity(b"a" * 32).peer_id, b"short", b"words")
    assert not is_signed_by("nobody", signed, b"words")


# Where the signature is a point of its own and a zero, nothing of the message counts.
ANYBODYS = ("01" + "00" * 31, "ec" + "ff" * 30 + "7f", "00" * 31 + "80", "ee" + "ff" * 30 + "ff")


@pytest.mark.parametrize("key", ANYBODYS)
def test_an_id_under_which_anybody_can_sign_is_nobodys(key: str) -> None:
    claimed = peer_id_of_key(bytes.fromhex(key))
    forged = bytes.fromhex(ANYBODYS[0]) + bytes(32)

    assert not is_peer_id(claimed)
    assert not any(is_signed_by(claimed, forged, b"%d" % number) for number in range(64))
