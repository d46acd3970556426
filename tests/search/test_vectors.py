"""Vectors by document number, and which are near."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from toolcrib.search.vectors import Vectors, from_bytes, quantized, stored_arrays, to_bytes

Floats = NDArray[np.float32]

DIMENSIONS = 128
CHANCE = np.random.default_rng(5)


def unit(vectors: NDArray[np.float64]) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def random_units(*shape: int) -> Floats:
    return unit(CHANCE.normal(size=(*shape, DIMENSIONS)))


def recall(vectors: Vectors, exact: Floats, queries: Floats) -> float:
    """The share of the ten closest vectors that are among the sixty found."""
    found = 0
    for query in queries:
        closest = np.argsort(-(exact @ query))[:10]
        found += np.isin(closest, vectors.nearest(query, 60, len(exact))).sum()
    return found / (10 * len(queries))


@pytest.fixture(scope="module")
def families() -> tuple[Floats, Floats]:
    """Four thousand vectors in families of ten, as tools are, and queries close to a family."""
    heads = random_units(400)
    members = unit(heads[:, None] + 0.8 * random_units(400, 10)).reshape(-1, DIMENSIONS)
    return members, unit(heads[:40] + 0.7 * random_units(40))


def test_the_closest_of_thousands_are_found_as_by_comparing_all(families: tuple[Floats, Floats]) -> None:
    members, queries = families
    vectors = Vectors(DIMENSIONS)
    vectors.put(np.arange(len(members)), members)
    assert recall(vectors, members, queries) >= 0.99


def test_they_are_found_likewise_in_a_stored_part_and_across_both(families: tuple[Floats, Floats]) -> None:
    members, queries = families
    for stored in (4_000, 2_000):
        vectors = Vectors(DIMENSIONS, stored_arrays(*quantized(members[:stored])))
        vectors.put(np.arange(stored, len(members)), members[stored:])
        assert recall(vectors, members, queries) >= 0.99


def test_even_vectors_that_are_close_to_nothing_are_found_among_fifteen_hundred() -> None:
    members = random_units(1_500)
    vectors = Vectors(DIMENSIONS)
    vectors.put(np.arange(len(members)), members)
    assert recall(vectors, members, random_units(50)) >= 0.99


def test_the_bytes_of_a_vector_are_close_to_it(families: tuple[Floats, Floats]) -> None:
    members, queries = families
    vectors = Vectors(DIMENSIONS)
    vectors.put(np.arange(100), members[:100])
    np.testing.assert_allclose(vectors.cosines(np.arange(100), queries), members[:100] @ queries.T, atol=0.01)


def test_a_vector_kept_elsewhere_comes_back_as_the_index_keeps_it() -> None:
    (vector,) = random_units(1)
    codes, scales = quantized(vector[None, :])
    kept, scale = from_bytes(to_bytes(vector))
    np.testing.assert_array_equal(kept, codes[0])
    assert scale == scales[0]


def test_a_document_without_a_vector_is_near_to_nothing() -> None:
    vectors = Vectors(DIMENSIONS, stored_arrays(*quantized(random_units(3))))
    vectors.put(np.array([5]), random_units(1))
    vectors.forget(range(1, 2))
    numbers = np.arange(8)
    assert vectors.has(numbers).tolist() == [True, False, True, False, False, True, False, False]
    assert sorted(vectors.nearest(random_units(1)[0], 60, 8)) == [0, 2, 5]
    assert np.isnan(vectors.cosines(numbers, random_units(1))[:, 0]).tolist() == (~vectors.has(numbers)).tolist()


def test_forgotten_vectors_of_thousands_are_not_found(families: tuple[Floats, Floats]) -> None:
    members, queries = families
    vectors = Vectors(DIMENSIONS, stored_arrays(*quantized(members[:2_000])))
    vectors.put(np.arange(2_000, 4_000), members[2_000:])
    vectors.forget(range(500))
    vectors.forget(range(2_500, 3_000))
    found = vectors.nearest(queries[0], 60, 4_000)
    assert len(found) == 60
    assert not np.isin(found, [*range(500), *range(2_500, 3_000)]).any()


def test_a_vector_put_again_takes_the_place_of_the_old_one() -> None:
    old, new = random_units(2)
    vectors = Vectors(DIMENSIONS, stored_arrays(*quantized(old[None, :])))
    vectors.put(np.array([0]), new[None, :])
    assert vectors.cosines(np.array([0]), new[None, :])[0, 0] == pytest.approx(1, abs=0.01)


def test_as_many_as_there_are_can_be_asked_for() -> None:
    members = np.random.default_rng(1).normal(size=(2_000, 64)).astype(np.float32)
    vectors = Vectors(64, stored_arrays(*quantized(members)))
    assert sorted(vectors.nearest(members[0], 2_000, 2_000)) == list(range(2_000))
