"""Where a sign-in keeps its tokens: in the keyring if one works, else in its file."""

from __future__ import annotations

from collections.abc import Iterator

import keyring
import pytest

from tests.memory_keyring import MemoryKeyring
from tests.signin.house import House, error_of, said, soon_said
from tests.signin.people import signed_in


@pytest.fixture
def in_memory() -> Iterator[MemoryKeyring]:
    before, vault = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(vault)
    yield vault
    keyring.set_keyring(before)


def on_disk(house: House) -> str:
    [file] = house.paths.sign_ins_dir.glob("*.json")
    return file.read_text("utf-8")


async def test_tokens_are_in_the_keyring_where_one_works_and_are_renewed_there(
    house: House, in_memory: MemoryKeyring
) -> None:
    record = await signed_in(house)
    assert record.secrets == "keyring"
    assert record.tokens is not None
    house.authority.expire(record.tokens.access)
    async with house.gateway() as gateway:
        assert await said(gateway) == {"text": "hello"}
    [kept] = in_memory.kept.values()
    assert house.tokens.refresh in kept
    assert house.tokens.refresh != record.tokens.refresh
    assert not any(secret in on_disk(house) for secret in (*house.authority.access, *house.authority.grants))


async def test_a_file_is_used_where_the_person_wants_one(
    house: House, in_memory: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_OAUTH_STORE", "file")
    record = await signed_in(house)
    assert (record.secrets, in_memory.kept) == ("file", {})
    assert record.tokens is not None
    assert record.tokens.access in on_disk(house)


async def test_a_locked_keyring_is_no_reason_to_sign_in_again(house: House, in_memory: MemoryKeyring) -> None:
    await signed_in(house)
    kept = dict(in_memory.kept)
    in_memory.kept.clear()
    async with house.gateway() as gateway:
        error = await error_of(gateway)
        assert error.code == "SIGN_IN_UNAVAILABLE"
        assert "keyring" in error.message
        in_memory.kept.update(kept)
        assert await soon_said(gateway) == {"text": "hello"}
