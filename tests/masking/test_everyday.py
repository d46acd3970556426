"""What is left readable even where a name says that it is secret, and nothing else."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.launching import ready_launch
from toolcrib.masking.everyday import is_everyday
from toolcrib.masking.masker import Masker
from toolcrib.model.server import Launch, RemoteLaunch, ServerSpec, StdioLaunch

UUID = "3f2b8c1e-9d4a-4f6b-8e2d-1c5a7b9e0f34"
LETTERS = "qHxWbvLkPzTrYmNc"
MADE_UP = [
    UUID,
    LETTERS,
    "correcthorsebatt",
    "zqbvkxjw",
    "8675309123456",
    "1234567",
    "hunter-two-22",
    "read-only",
    "blue/green tree",
    "zqbv/kxjw",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "/wJalrXUtnFEMI/K7MDENG",
    "me@secret.example",
    "https://hooks.example.com/a8f5f167",
]
EVERYDAY = """
    password localhost postgres Production github disabled required 123456 2024-11-05 127.0.0.1 127.0.0.1:5432 10.0.19045
    /home/ada/.ssh/id_rsa ~/work/notes C:\\Users\\Ada ./data https://api.example.com/v1 http://localhost:8080/auth
""".split()


@pytest.mark.parametrize("value", MADE_UP)
def test_what_somebody_made_up_is_no_everyday_word(value: str) -> None:
    assert not is_everyday(value)


@pytest.mark.parametrize("value", EVERYDAY)
def test_words_numbers_and_paths_of_every_day_stay_readable(value: str) -> None:
    assert is_everyday(value)


@given(st.uuids().map(str) | st.text(string.ascii_letters, min_size=13) | st.text(string.digits, min_size=7))
def test_no_id_no_long_run_of_letters_and_no_long_number_is_everyday(value: str) -> None:
    assert not is_everyday(value)


def masker_for(launch: Launch, **env: str) -> Masker:
    return ready_launch(ServerSpec("s", launch), env, {"k": LETTERS}.get).masker


def says(masker: Masker, value: str) -> str:
    """What an agent reads where a server says the value of itself."""
    return bytes(masker.json(f'{{"description":"uses {value} here"}}'.encode())).decode()


@pytest.mark.parametrize("value", MADE_UP)
@pytest.mark.parametrize(
    "launch",
    [
        lambda value: StdioLaunch("x", env={"EXA_API_KEY": value}),
        lambda value: StdioLaunch("x", env={"DB_PASSWORD": "${MINE}"}),
        lambda value: StdioLaunch("x", env={"LEVEL": "${MY_TOKEN}"}),
        lambda value: StdioLaunch("x", pass_env=("MY_TOKEN",)),
        lambda value: StdioLaunch("x", ("--api-key", value)),
        lambda value: StdioLaunch("x", (f"--api-key={value}",)),
        lambda value: RemoteLaunch("https://example.com", {"X-Api-Key": value}),
        lambda value: RemoteLaunch("https://example.com", {"Authorization": "Bearer ${MINE}"}),
    ],
)
def test_a_value_under_a_telling_name_is_covered_whatever_it_looks_like(launch, value: str) -> None:
    masker = masker_for(launch(value), MINE=value, MY_TOKEN=value)
    assert value not in says(masker, value)
    assert value not in masker(f"uses {value} here")


def test_what_comes_from_the_keyring_or_a_file_is_covered_under_any_name(tmp_path) -> None:
    (tmp_path / "kept").write_text(UUID + "\n")
    masker = masker_for(StdioLaunch("x", env={"A": "${keyring:k}", "B": f"${{file:{tmp_path}/kept}}"}))
    assert (says(masker, LETTERS), says(masker, UUID)) == (
        '{"description":"uses ${keyring:k} here"}',
        f'{{"description":"uses ${{file:{tmp_path}/kept}} here"}}',
    )


@pytest.mark.parametrize("written", ["hunter-two-22", "hunter%2Dtwo-22"])
def test_the_password_of_an_address_is_covered_alone_as_well(written: str) -> None:
    masker = masker_for(StdioLaunch("x", env={"PLACE": f"postgres://me:{written}@db.example.com/x"}))
    assert "hunter" not in says(masker, "hunter-two-22")


def test_a_key_after_its_name_in_an_address_is_covered() -> None:
    masker = masker_for(RemoteLaunch(f"https://example.com/key/{UUID}/mcp"))
    assert UUID not in says(masker, UUID)


@pytest.mark.parametrize("value", ["eu-west-1", UUID, "production", "some/folder"])
def test_what_anybody_could_have_stays_readable_under_a_plain_name(value: str) -> None:
    for launch in (
        StdioLaunch("x", env={"PLACE": value}),
        RemoteLaunch(f"https://example.com/mcp?place={value}"),
        RemoteLaunch("https://example.com/mcp", {"Place": value}),
    ):
        assert value in says(masker_for(launch), value)


@pytest.mark.parametrize("value", EVERYDAY)
def test_an_everyday_word_stays_readable_in_what_a_server_says_of_itself_and_nowhere_else(value: str) -> None:
    if "\\" in value:
        return
    masker = masker_for(StdioLaunch("x", env={"DB_PASSWORD": value}))
    assert value in says(masker, value)
    assert masker(f"refused {value} here") == "refused ${DB_PASSWORD} here"
