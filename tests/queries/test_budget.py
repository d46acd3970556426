from __future__ import annotations

import pytest

from toolcrib.model.view import SearchHit
from toolcrib.queries.budget import NEIGHBOURS, fits, likely, pack_hits, search_note

LONG = "Creates a new issue in a repository of the organisation, with labels, assignees and a milestone where wanted"


def hits(*chances: float, summary: str = "Does a thing") -> list[SearchHit]:
    return [SearchHit("github-enterprise", f"create_issue_{n}", summary, chance) for n, chance in enumerate(chances)]


@pytest.mark.parametrize(
    ("chances", "expected"),
    [((), False), ((0.29,), False), ((0.3,), True), ((0.15, 0.12, 0.08), True), ((0.1, 0.08, 0.05, 0.05), False)],
)
def test_something_fits_when_one_of_the_first_three_is_likely_enough(
    chances: tuple[float, ...], expected: bool
) -> None:
    assert fits(hits(*chances)) is expected


def test_hits_far_below_the_best_are_left_out() -> None:
    assert [hit.relevance for hit in likely(hits(1.0, 0.3, 0.01, 0.0))] == [1.0, 0.3, 0.01]


def test_where_nothing_fits_the_nearest_few_are_kept() -> None:
    assert len(likely(hits(*[0.03] * 10))) == NEIGHBOURS
    assert len(likely(hits(0.0, 0.0))) == 1
    assert likely([]) == []


def test_five_hits_come_before_long_summaries() -> None:
    packed = pack_hits(hits(*[0.5] * 10, summary=LONG))
    assert len(packed) >= 5
    assert all(len(hit.summary) < len(LONG) for hit in packed)


def test_a_single_hit_keeps_its_summary() -> None:
    assert pack_hits(hits(0.9, summary=LONG))[0].summary == LONG


def test_the_note_counts_in_the_budget() -> None:
    note = "Servers that could not be read, and what may be done about it. " * 5

    assert len(pack_hits(hits(*[0.5] * 10), note)) < len(pack_hits(hits(*[0.5] * 10)))
    assert len(pack_hits(hits(0.5), note * 100)) == 1


def test_the_note_names_only_the_first_servers_that_could_not_be_read() -> None:
    said = search_note(found=True, pending=0, server=None, unread=[f"s{number}" for number in range(30)])

    assert "s0, s1, s2, s3, s4 and 25 more" in said


def test_the_note_names_the_nearest_domains_only_where_nothing_fits() -> None:
    said = search_note(found=False, pending=0, server=None, near=("github", "jira"))
    assert said == "Nothing fits. Nearest: github, jira. Try other words, or list_mcp_servers."
    assert search_note(found=True, pending=0, server=None, near=("github",)) == ""
