from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.search.suggest import nearest

NAMES = ["create_issue", "list_issues", "get_file_contents", "git_status", "git_log", "read_graph", "query"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("create_isue", "create_issue"),
        ("CreateIssue", "create_issue"),
        ("issue_create", "create_issue"),
        ("gti_status", "git_status"),
        ("file_contents", "get_file_contents"),
        ("github_create_issue", "create_issue"),
        ("qurey", "query"),
        ("git-log", "git_log"),
    ],
)
def test_the_name_that_was_meant_comes_first(typed: str, meant: str) -> None:
    assert nearest(typed, NAMES)[0] == meant


@pytest.mark.parametrize(
    ("typed", "there"),
    [
        ("clock", "slack"),
        ("notes", "postgres"),
        ("weather", "fetch"),
        ("translate", "sqlite"),
        ("send_mail", "search_files"),
        ("run_tests", "create_issue"),
        ("frendly", "read_file"),
        ("start", "git_status"),
    ],
)
def test_a_name_that_only_shares_some_letters_is_not_offered(typed: str, there: str) -> None:
    assert nearest(typed, [there]) == []


@pytest.mark.parametrize(("typed", "meant"), [("gti", "git"), ("gihtub", "github"), ("get_time", "current_time")])
def test_a_short_name_with_swapped_letters_and_a_like_wording_are_still_offered(typed: str, meant: str) -> None:
    assert nearest(typed, [meant]) == [meant]


@pytest.mark.parametrize(
    ("typed", "there"),
    [
        ("issue", "list_issues_for_repo"),
        ("fetch", "fetch_url_as_markdown"),
        ("fetch_url_as_markdown", "fetch"),
        ("log", "git_log"),
    ],
)
def test_a_telling_part_of_a_much_longer_name_is_offered(typed: str, there: str) -> None:
    assert nearest(typed, ["send_mail", there]) == [there]


def test_a_few_letters_of_a_much_longer_name_are_no_guess() -> None:
    assert nearest("digital_weather_station", ["git", "list_issues_for_repo"]) == []


@pytest.mark.parametrize("typed", ["zzzzzz", "", "   ", "🎉"])
def test_a_name_like_no_other_gets_no_suggestion(typed: str) -> None:
    assert nearest(typed, NAMES) == []


def test_a_part_of_many_names_gives_the_shortest_of_them() -> None:
    assert nearest("issue", NAMES, limit=2) == ["list_issues", "create_issue"]


def test_the_order_of_candidates_does_not_matter_and_the_limit_holds() -> None:
    candidates = [f"tool_{number}" for number in range(100)]
    assert nearest("tool", candidates, limit=3) == nearest("tool", reversed(candidates), limit=3)
    assert len(nearest("tool", candidates, limit=3)) == 3
    assert nearest("tool", candidates, limit=0) == []


@pytest.mark.timeout(20)
def test_ten_thousand_candidates_and_an_endless_name_are_answered() -> None:
    candidates = [f"{'ab' * 500}_{number}" for number in range(10_000)]
    assert len(nearest("ab" * 500_000, candidates)) == 5


@given(st.text(), st.lists(st.text()), st.integers(-1, 5))
def test_suggestions_are_always_candidates_without_repeats(name: str, candidates: list[str], limit: int) -> None:
    found = nearest(name, candidates, limit)
    assert len(found) == len(set(found)) <= max(0, limit)
    assert set(found) <= set(candidates)


@given(st.lists(st.text(min_size=1).filter(lambda name: bool(name.strip())), min_size=1))
def test_a_name_that_exists_is_its_own_nearest(candidates: list[str]) -> None:
    assert nearest(candidates[0], candidates)[0] == candidates[0]
