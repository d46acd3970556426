from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.search.terms import MAX_TERM_CHARACTERS, query_terms, squash, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create_issue", ["creat", "issu"]),
        ("list-files", ["list", "file"]),
        ("getUserProfile", ["get", "user", "profil"]),
        ("HTMLParserOptions", ["html", "parser", "option"]),
        ("fetch URLs, IDs", ["fetch", "url", "id"]),
        ("math.factorial/2", ["math", "factori", "2"]),
        ("Café Größe", ["cafe", "gross"]),
        ("k8s s3", ["k8s", "s3"]),
    ],
)
def test_identifiers_are_split_folded_and_stemmed(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_mixed_word_is_found_as_a_whole_and_by_its_parts() -> None:
    assert terms("GitHub") == ["github", "git", "hub"]
    assert terms("oauth2") == ["oauth2", "oauth"]


def test_a_query_uses_the_whole_word_where_documents_know_it() -> None:
    assert query_terms("GitHub", {"github"}.__contains__) == ["github"]
    assert query_terms("GitHub", {"git"}.__contains__) == ["git", "hub"]


def test_words_that_only_phrase_the_question_are_left_out() -> None:
    assert terms("could you please show me what is in the file") == ["show", "file"]


def test_scripts_without_spaces_become_pairs_of_characters() -> None:
    assert terms("批量启动RDS") == ["批量", "量启", "启动", "rds"]


def test_other_scripts_stay_whole_words() -> None:
    assert terms("Погода в Москве") == ["погода", "в", "москве"]


def test_one_endless_word_is_cut() -> None:
    assert max(map(len, terms("a" * 1_000_000))) <= MAX_TERM_CHARACTERS


@given(st.text())
def test_any_text_gives_terms_that_are_neither_empty_nor_endless(text: str) -> None:
    for term in terms(text) + query_terms(text, lambda _term: False):
        assert 0 < len(term) <= MAX_TERM_CHARACTERS


@given(st.lists(st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True), min_size=1), st.sampled_from("_-. /:"))
def test_squashed_names_do_not_depend_on_separators_or_case(words: list[str], separator: str) -> None:
    assert squash(separator.join(words)) == squash("".join(words).upper())
