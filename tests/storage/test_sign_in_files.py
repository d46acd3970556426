"""Sign-ins on disk: for their owner only, whole or not at all, with the secrets in the keyring where one takes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import keyring
import msgspec
import pytest

from tests.memory_keyring import MemoryKeyring
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import StoreUnavailable
from toolcrib.signin.record import Endpoints, Registration, SignIn, Tokens
from toolcrib.storage.sign_in_files import SignInFiles

RECORD = SignIn(
    resource="https://api.example.com/mcp",
    server="example",
    endpoints=Endpoints(token="https://auth.example.com/token"),
    registration=Registration(id="us", secret="client-secret-41c9"),
    tokens=Tokens(access="access-token-77ab", refresh="refresh-token-91de", given_at=1.0, expires_at=3601.0),
)
IN_KEYRING = msgspec.structs.replace(RECORD, secrets="keyring")
SECRETS = (b"client-secret-41c9", b"access-token-77ab", b"refresh-token-91de")


@pytest.fixture
def in_memory() -> Iterator[MemoryKeyring]:
    before, vault = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(vault)
    yield vault
    keyring.set_keyring(before)


@pytest.fixture
def files(tmp_path: Path) -> SignInFiles:
    return SignInFiles(tmp_path / "state" / "sign-ins", OsKeyring())


def path_of(tmp_path: Path) -> Path:
    return tmp_path / "state" / "sign-ins" / f"{RECORD.key}.json"


def test_what_was_put_is_got_until_it_is_dropped(files: SignInFiles) -> None:
    assert (files.get(RECORD.key), files.all()) == (None, [])
    assert files.put(RECORD) == RECORD
    assert (files.get(RECORD.key), files.all()) == (RECORD, [RECORD])
    files.drop(RECORD.key)
    files.drop(RECORD.key)
    assert files.get(RECORD.key) is None


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_file_is_for_its_owner_only_and_a_link_is_not_followed(files: SignInFiles, tmp_path: Path) -> None:
    files.put(RECORD)
    path = path_of(tmp_path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    elsewhere = tmp_path / "elsewhere.json"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(StoreUnavailable):
        files.get(RECORD.key)
    files.put(RECORD)  # takes the place of the link, and leaves alone what it leads to
    assert not path.is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_file_that_others_can_read_is_not_used(files: SignInFiles, tmp_path: Path) -> None:
    files.put(RECORD)
    path_of(tmp_path).chmod(0o640)
    with pytest.raises(StoreUnavailable, match="others"):
        files.get(RECORD.key)
    assert files.all() == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"resource": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_broken_file_is_said_and_can_be_replaced(files: SignInFiles, tmp_path: Path, content: bytes) -> None:
    files.put(RECORD)
    path_of(tmp_path).write_bytes(content)
    with pytest.raises(StoreUnavailable):
        files.get(RECORD.key)
    files.put(RECORD)
    assert files.get(RECORD.key) == RECORD


def test_a_file_under_the_key_of_another_sign_in_does_not_count(files: SignInFiles, tmp_path: Path) -> None:
    files.put(RECORD)
    other = msgspec.structs.replace(RECORD, account="work")
    path_of(tmp_path).rename(path_of(tmp_path).with_name(f"{other.key}.json"))
    assert files.get(other.key) is None


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "x" * 20, "0" * 21])
def test_nothing_but_a_key_names_a_file(files: SignInFiles, key: str) -> None:
    with pytest.raises(StoreUnavailable):
        files.get(key)


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    with pytest.raises(StoreUnavailable):
        SignInFiles(tmp_path / "state" / "sign-ins", OsKeyring()).put(RECORD)


def test_with_a_keyring_no_secret_is_in_the_file(files: SignInFiles, tmp_path: Path, in_memory: MemoryKeyring) -> None:
    assert files.put(IN_KEYRING) == IN_KEYRING
    content = path_of(tmp_path).read_bytes()
    assert [secret for secret in SECRETS if secret in content] == []
    assert json.loads(content)["secrets"] == "keyring"
    assert files.get(RECORD.key) == IN_KEYRING
    files.drop(RECORD.key)
    assert in_memory.kept == {}


def test_a_keyring_that_refuses_leaves_the_secrets_in_the_file(
    files: SignInFiles, in_memory: MemoryKeyring, caplog: pytest.LogCaptureFixture
) -> None:
    in_memory.refuses = f"oauth:{RECORD.key}"
    assert files.put(IN_KEYRING).secrets == "file"
    assert files.get(RECORD.key) == RECORD
    assert "is kept in a file" in caplog.text


def test_a_keyring_that_is_locked_is_not_taken_for_being_signed_out(
    files: SignInFiles, in_memory: MemoryKeyring
) -> None:
    files.put(IN_KEYRING)
    in_memory.kept.clear()
    with pytest.raises(StoreUnavailable, match="keyring"):
        files.get(RECORD.key)


def test_no_secret_is_in_the_repr_of_a_sign_in() -> None:
    shown = f"{RECORD!r} {RECORD.tokens!r} {RECORD.registration!r}".encode()
    assert [secret for secret in SECRETS if secret in shown] == []
