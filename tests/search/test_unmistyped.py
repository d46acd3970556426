"""What is left as it was written."""

from __future__ import annotations

import pytest

from toolcrib.search.known_words import is_derived, is_foreign

EVERYDAY = {"ping", "send", "wrap", "create", "class", "state"}


@pytest.mark.parametrize(
    "text",
    [
        "quién está de guardia esta noche",
        "ajouter une tache a ma liste",
        "Kannst du Anna morgen eine Mail schicken",
        "crear una tarea para el lunes",
    ],
)
def test_other_languages_are_foreign(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "create an isue on github", "list the files in a folder", "no mail in LA is on me", "send a mesage 12"),
        *("a café in São Paulo", "wether in El Paso", "the OS verison in EST", "a plot of x and y"),
    ],
)
def test_english_is_not_foreign_however_it_is_typed(text: str) -> None:
    assert not is_foreign(text)


@pytest.mark.parametrize("word", ["pinging", "unsend", "resend", "wrapped", "creating", "states"])
def test_a_word_made_of_an_everyday_one_is_derived(word: str) -> None:
    assert is_derived(word, EVERYDAY.__contains__)


@pytest.mark.parametrize("word", ["pingin", "unsedn", "creatign", "sendd", "wraping", "ing", "un", ""])
def test_a_slip_is_not_derived(word: str) -> None:
    assert not is_derived(word, EVERYDAY.__contains__)
