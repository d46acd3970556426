"""A value that is secret need not stand on our command line, and then it is in no file of ours."""

from __future__ import annotations

import io
from collections.abc import Iterator

import keyring
import pytest
from keyring.backends import fail

from tests.adoption.home import CURSOR, Home
from tests.memory_keyring import MemoryKeyring
from toolcrib.config.load import load_settings
from toolcrib.model.server import Launch, RemoteLaunch, StdioLaunch

Printed = pytest.CaptureFixture[str]
SECRET = "plain-lily-one"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryKeyring]:
    """A keyring, and somebody who types the secret."""
    usual, memory = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(memory)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\n"))
    yield memory
    keyring.set_keyring(usual)


def launch() -> Launch:
    (spec,) = load_settings().servers
    return spec.launch


def test_a_variable_that_is_named_is_referred_to(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_TOKEN", SECRET)

    assert home.run("add", "notes", "--env", "NOTES_TOKEN", "--", "notes-mcp") == 0

    assert launch() == StdioLaunch("notes-mcp", env={"NOTES_TOKEN": "${NOTES_TOKEN}"})
    assert SECRET not in home.own.read_text("utf-8")


def test_a_variable_that_is_set_only_where_the_server_starts_is_taken_with_a_word(home: Home, capsys: Printed) -> None:
    assert home.run("add", "notes", "--env", "NOTES_TOKEN", "--", "notes-mcp") == 0

    assert launch() == StdioLaunch("notes-mcp", env={"NOTES_TOKEN": "${NOTES_TOKEN}"})
    assert "NOTES_TOKEN is not set here" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["hunter2canary", "AKIAIOSFODNN7CANARY1", "A1B2C3D4E5F6G7H8J9K1", "TWO WORDS"])
def test_what_may_be_a_value_is_not_taken_for_a_name(home: Home, capsys: Printed, text: str) -> None:
    assert home.run("add", "notes", "--env", text, "--", "notes-mcp") == 1

    assert not home.own.exists()
    said = capsys.readouterr()
    assert text not in said.out + said.err


def test_without_a_keyring_the_advice_fits_the_command(home: Home, kept: MemoryKeyring, capsys: Printed) -> None:
    keyring.set_keyring(fail.Keyring())

    assert home.run("add", "notes", "--secret", "NOTES_TOKEN", "--", "notes-mcp") == 2

    told = capsys.readouterr().err
    assert told.startswith("toolcrib: --secret: this machine has no usable keyring")
    assert "`--env NAME`" in told
    assert "--secrets" not in told


def test_a_secret_is_asked_for_and_kept_in_the_keyring(home: Home, kept: MemoryKeyring, capsys: Printed) -> None:
    assert home.run("add", "notes", "--secret", "NOTES_TOKEN", "--", "notes-mcp") == 0

    assert launch() == StdioLaunch("notes-mcp", env={"NOTES_TOKEN": "${keyring:notes.NOTES_TOKEN}"})
    assert kept.kept == {("toolcrib", "notes.NOTES_TOKEN"): SECRET}
    said = capsys.readouterr()
    assert SECRET not in home.own.read_text("utf-8") + said.out + said.err


def test_a_secret_header_of_an_address_is_a_bearer_token(home: Home, kept: MemoryKeyring) -> None:
    assert home.run("add", "wiki", "https://wiki.example.com/mcp", "--secret", "Authorization") == 0

    found = launch()
    assert isinstance(found, RemoteLaunch)
    assert found.headers == {"Authorization": "Bearer ${keyring:wiki.Authorization}"}


def test_a_token_that_is_pasted_with_its_scheme_gets_no_second_one(
    home: Home, kept: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"Basic {SECRET}\n"))
    assert home.run("add", "wiki", "https://wiki.example.com/mcp", "--secret", "Authorization") == 0

    found = launch()
    assert isinstance(found, RemoteLaunch)
    assert found.headers == {"Authorization": "${keyring:wiki.Authorization}"}


def test_a_person_who_gives_no_value_is_told_so(
    home: Home, kept: MemoryKeyring, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    class Gone(io.StringIO):
        def isatty(self) -> bool:
            return True

    def ended(_prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin", Gone())
    monkeypatch.setattr("getpass.getpass", ended)

    assert home.run("add", "notes", "--secret", "NOTES_TOKEN", "--", "notes-mcp") != 0
    assert "no value was given" in capsys.readouterr().err
    assert not home.own.exists()


def test_adding_a_server_that_is_there_changes_no_secret_of_it(home: Home, kept: MemoryKeyring) -> None:
    kept.set_password("toolcrib", "notes.NOTES_TOKEN", "before")
    assert home.run("add", "notes", "--", "notes-mcp") == 0

    assert home.run("add", "notes", "--secret", "NOTES_TOKEN", "--", "other") == 1

    assert kept.get_password("toolcrib", "notes.NOTES_TOKEN") == "before"


def test_a_secret_on_the_command_line_is_taken_with_a_warning(home: Home, capsys: Printed) -> None:
    assert home.run("add", "notes", "--env", f"NOTES_TOKEN={SECRET}", "--env", "LEVEL=2", "--", "notes-mcp") == 0

    warned = capsys.readouterr().err
    assert "can see the value of NOTES_TOKEN" in warned
    assert "`--secret NOTES_TOKEN` asks for it instead" in warned
    assert "LEVEL" not in warned
    assert SECRET not in warned


def test_a_removed_server_leaves_nothing_in_the_keyring(home: Home, kept: MemoryKeyring, capsys: Printed) -> None:
    kept.kept["toolcrib", "notes.OTHER"] = "of somebody else"
    home.run("add", "notes", "--secret", "NOTES_TOKEN", "--", "notes-mcp")
    capsys.readouterr()

    assert home.run("remove", "notes") == 0

    assert kept.kept == {("toolcrib", "notes.OTHER"): "of somebody else"}
    said = capsys.readouterr().out
    assert "notes.NOTES_TOKEN" in said
    assert SECRET not in said


def test_what_another_entry_or_a_person_needs_stays_in_the_keyring(
    home: Home, kept: MemoryKeyring, capsys: Printed
) -> None:
    home.run("add", "notes", "--secret", "NOTES_TOKEN", "--env", "KEY=${keyring:shared}", "--", "notes-mcp")
    home.run("add", "more", "--env", "TOKEN=${keyring:notes.NOTES_TOKEN}", "--", "notes-mcp")
    kept.kept["toolcrib", "shared"] = "chosen by a person"
    before = dict(kept.kept)

    assert home.answer(capsys, "remove", "notes")["removedSecrets"] == []
    assert kept.kept == before


def test_secrets_are_kept_for_those_who_want_that(home: Home, kept: MemoryKeyring) -> None:
    home.run("add", "notes", "--secret", "NOTES_TOKEN", "--", "notes-mcp")

    assert home.run("remove", "notes", "--keep-secrets") == 0
    assert kept.kept == {("toolcrib", "notes.NOTES_TOKEN"): SECRET}


def test_a_client_that_may_be_released_keeps_what_it_gets_back(
    home: Home, kept: MemoryKeyring, capsys: Printed
) -> None:
    file = home.give("cursor", CURSOR)
    assert home.run("adopt", "cursor", "--secrets", "keyring", "--yes") == 0
    assert home.run("remove", "notes") == 0
    assert ("toolcrib", "notes.NOTES_TOKEN") in kept.kept
    assert home.run("release", "--yes") == 0
    assert b"s3cr3t-n0tes" in file.read_bytes()
