from __future__ import annotations

import math

import numpy as np
import pytest

from bench.search_quality import figures
from bench.search_quality.bootstrap import paired
from bench.search_quality.figures import Bin

THIRD = 1 / math.log2(4)
SECOND = 1 / math.log2(3)


def test_a_perfect_ranking_has_the_whole_gain() -> None:
    assert figures.ndcg([True, True, False], 2) == pytest.approx(1)


def test_a_right_tool_further_down_gains_less() -> None:
    assert figures.ndcg([False, True, False], 1) == pytest.approx(SECOND)
    assert figures.ndcg([True, False, True], 2) == pytest.approx((1 + THIRD) / (1 + SECOND))


def test_what_was_not_found_costs_gain() -> None:
    assert figures.ndcg([True], 3) == pytest.approx(1 / (1 + SECOND + THIRD))
    assert figures.ndcg([], 1) == 0


def test_only_the_first_ten_count_for_the_gain() -> None:
    assert figures.ndcg([False] * 10 + [True], 1) == 0
    assert figures.ndcg([True] * 10, 12) == pytest.approx(1)


def test_recall_is_the_share_of_the_right_tools_that_was_found() -> None:
    right = [True, False, True, False]
    assert [figures.recall(right, 4, depth) for depth in (1, 2, 3, 10)] == [0.25, 0.25, 0.5, 0.5]


def test_a_hit_is_a_right_tool_in_the_first_place() -> None:
    assert [figures.hit(right) for right in ([True, False], [False, True], [])] == [1, 0, 0]


def test_the_reciprocal_rank_is_of_the_first_right_tool() -> None:
    assert figures.reciprocal_rank([False, False, True, True]) == pytest.approx(1 / 3)
    assert figures.reciprocal_rank([False, False]) == 0


def test_auroc_is_the_share_of_pairs_in_the_right_order_and_a_tie_is_half() -> None:
    # 0.9 is above both, 0.4 is above 0.1 and ties with 0.4.
    assert figures.auroc([0.9, 0.4], [0.1, 0.4]) == pytest.approx(3.5 / 4)


@pytest.mark.parametrize(
    ("present", "absent", "expected"), [([2, 3], [0, 1], 1), ([0, 1], [2, 3], 0), ([1, 1], [1, 1, 1], 0.5)]
)
def test_auroc_tells_perfect_from_reversed_and_from_blind(
    present: list[float], absent: list[float], expected: float
) -> None:
    assert figures.auroc(present, absent) == expected


def test_hits_are_judged_beside_others_of_about_their_relevance() -> None:
    found = figures.reliability([(0.12, False), (0.18, True), (0.95, True), (1.0, True), (0.91, False)])
    assert found[1] == Bin(2, pytest.approx(0.15), 0.5)
    assert found[9] == Bin(3, pytest.approx(0.953, abs=0.001), pytest.approx(2 / 3))
    assert [number for number, one in enumerate(found) if one is not None] == [1, 9]


def test_the_error_of_relevance_weighs_every_hit_the_same() -> None:
    assert figures.calibration_error([Bin(1, 0.1, 0.5), None, Bin(3, 0.9, 0.7)]) == pytest.approx((0.4 + 3 * 0.2) / 4)


def test_equal_figures_differ_by_nothing_in_every_draw() -> None:
    values = [0.1, 0.5, 0.9]
    assert paired([(values, values)], np.random.default_rng(1)) == (0, 0, 0)


def test_a_difference_that_every_query_shows_has_no_spread() -> None:
    found = paired([([0.75, 1.0], [0.25, 0.5])], np.random.default_rng(1), draws=100)
    assert found == (0.5, 0.5, 0.5)


def test_the_interval_is_that_of_the_mean() -> None:
    # 100 coin tosses: the mean of draws has a standard error of 0.05, so 95 of 100 lie within 0.098 of it.
    found = paired([([1.0, 0.0] * 50, [0.0] * 100)], np.random.default_rng(1))
    assert found.difference == 0.5
    assert (found.low, found.high) == (pytest.approx(0.402, abs=0.01), pytest.approx(0.598, abs=0.01))


def test_every_set_counts_the_same_however_many_queries_it_has() -> None:
    found = paired([([1.0] * 9, [0.0] * 9), ([0.0], [1.0])], np.random.default_rng(1), draws=10)
    assert found == (0, 0, 0)
