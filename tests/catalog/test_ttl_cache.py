from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Clock
from toolcrib.catalog.ttl_cache import TtlCache


def test_a_value_is_kept_for_its_time_and_not_longer() -> None:
    clock = Clock()
    cache: TtlCache[str, int] = TtlCache(60.0, clock)
    cache.put("a", 1)

    clock.advance(59.9)
    assert cache.get("a") == 1
    clock.advance(0.1)
    assert cache.get("a") is None


def test_an_expired_value_is_removed_when_asked_for() -> None:
    clock = Clock()
    cache: TtlCache[str, int] = TtlCache(60.0, clock)
    cache.put("a", 1)
    clock.advance(61)

    cache.get("a")

    assert len(cache) == 0


def test_putting_again_renews_the_time() -> None:
    clock = Clock()
    cache: TtlCache[str, int] = TtlCache(60.0, clock)
    cache.put("a", 1)
    clock.advance(50)
    cache.put("a", 2)
    clock.advance(50)

    assert cache.get("a") == 2


def test_zero_seconds_keep_nothing() -> None:
    cache: TtlCache[str, int] = TtlCache(0.0, Clock())
    cache.put("a", 1)

    assert cache.get("a") is None


def test_without_a_time_a_value_stays_until_it_is_invalidated() -> None:
    clock = Clock()
    cache: TtlCache[str, int] = TtlCache(None, clock)
    cache.put("a", 1)
    clock.advance(1e9)

    assert cache.get("a") == 1
    cache.invalidate("a")
    assert cache.get("a") is None


def test_invalidating_one_leaves_the_others_and_without_a_name_drops_all() -> None:
    cache: TtlCache[str, int] = TtlCache(60.0, Clock())
    cache.put("a", 1)
    cache.put("b", 2)

    cache.invalidate("a")
    cache.invalidate("never there")
    assert (cache.get("a"), cache.get("b")) == (None, 2)
    cache.invalidate()
    assert len(cache) == 0


steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("ab"), st.integers(0, 9)),
        st.tuples(st.just("wait"), st.integers(0, 40), st.none()),
        st.tuples(st.just("drop"), st.sampled_from("ab"), st.none()),
    )
)


@given(steps)
def test_it_never_gives_what_is_too_old_and_never_loses_what_is_not(steps: list[tuple[str, Any, Any]]) -> None:
    clock, model = Clock(), dict[str, tuple[float, int]]()
    cache: TtlCache[str, int] = TtlCache(60.0, clock)

    for kind, what, value in steps:
        if kind == "put":
            cache.put(what, value)
            model[what] = (clock.now, value)
        elif kind == "wait":
            clock.advance(what)
        else:
            cache.invalidate(what)
            model.pop(what, None)
        for key in "ab":
            kept_at, expected = model.get(key, (float("-inf"), None))
            assert cache.get(key) == (expected if clock.now - kept_at < 60 else None)
