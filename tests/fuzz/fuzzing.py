"""What the fuzz tests share: how many examples, and bytes and texts that are almost right.

With `make test` each runs some sixty examples, the same every time. `make fuzz` runs a hundred times as many, others each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
Test = TypeVar("Test", bound=Callable[..., Any])

ODD_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\"\\'`{}[]()<>:;,.#|/*?!@$%^&=+-_~ \t\r\n\0\x1b\x7f\x85\xa0\u200b\u202e\u2028\ufeff\ufffd\ud800\udfff文\U0001f600"
        ),
    ),
    max_size=40,
)
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.sampled_from([0, -1, 2**53, 2**63, 2**64, 10**400, -0.0, 1e308]),
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD_TEXT, inner, max_size=4),
    max_leaves=12,
)


def fuzzed(examples: int = 60) -> Callable[[Test], Test]:
    """So many examples of a test in CI."""
    return settings(
        max_examples=examples * TIMES,
        deadline=None,
        derandomize=TIMES == 1,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes], extra: Sequence[bytes] = ()) -> bytes:
    """One of the seeds with pieces cut out, doubled, moved, swapped for others or replaced by odd bytes."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 24)))
        other = draw(st.sampled_from(seeds))
        middle = draw(st.integers(0, len(other)))
        pieces = (
            st.binary(max_size=6),
            st.just(b""),
            st.just(bytes(data[begin:end]) * 2),
            st.just(other[middle : middle + 40]),
        )
        data[begin:end] = draw(st.one_of(*pieces, *(st.just(piece) for piece in extra)))
    return bytes(data)


def cut(draw_from: bytes, places: Sequence[int]) -> list[bytes]:
    """The bytes in pieces, as a pipe or a socket may hand them over."""
    marks = sorted({min(place, len(draw_from)) for place in places})
    return [draw_from[begin:end] for begin, end in zip([0, *marks], [*marks, len(draw_from)], strict=True)]
