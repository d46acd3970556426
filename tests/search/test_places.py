"""Places near the top for the best tool of each intent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from toolcrib.search.multi_intent import standing

Floats = NDArray[np.float32]


def in_order(scores: Floats) -> Iterator[int]:
    return iter(np.argsort(-scores, kind="stable").tolist())


def floats(*rows: object) -> Floats:
    return np.array(rows, dtype=np.float32)


CROWDED = floats(9, 8.9, 8.8, 8.7, 8.6, 3, 2)
# The first intent is that of five tools, the others have one each.
BY_CLAUSE = floats([9, 8, 8, 8, 8, 0, 0], [0, 0, 0, 0, 0, 5, 0], [0, 0, 0, 0, 0, 0, 4])


def test_a_single_wish_is_ranked_as_it_was() -> None:
    stand = standing(CROWDED, np.empty((0, len(CROWDED)), dtype=np.float32), in_order)
    assert stand.rank is stand.worth is CROWDED
    assert not stand.is_best.any()


def test_the_best_of_each_clause_come_before_the_last_of_the_first_few() -> None:
    stand = standing(CROWDED, BY_CLAUSE, in_order)
    assert list(in_order(stand.rank)) == [0, 1, 2, 5, 6, 3, 4]
    assert stand.is_best.tolist() == [True, False, False, False, False, True, True]


def test_a_raised_tool_is_worth_no_more_for_it() -> None:
    stand = standing(CROWDED, BY_CLAUSE, in_order)
    assert stand.worth[[5, 6]] == pytest.approx([3.2, 2.2])


def test_what_is_near_the_best_of_its_clause_overtakes_what_is_far_from_it() -> None:
    stand = standing(floats(5, 4, 4.1), floats([9, 0, 7], [0, 6, 0]), in_order)
    assert list(in_order(stand.rank)) == [0, 1, 2]


def test_where_nothing_counts_nothing_is_raised() -> None:
    stand = standing(CROWDED, BY_CLAUSE, lambda _scores: iter(()))
    assert stand.rank is CROWDED


def test_raised_tools_keep_their_order_however_close_they_are() -> None:
    by_clause = floats([9, 0, 0, 0, 0, 0], [0, 0, 0, 0, 9, 0], [0, 0, 0, 0, 0, 9])
    stand = standing(floats(9, 8.9, 8.8, 8.7, 3.23, 3.2), by_clause, in_order)
    order = list(in_order(stand.rank))
    assert order.index(4) < order.index(5) <= 4
