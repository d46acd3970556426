"""How long ago something was, or how long it will take, in words."""

from __future__ import annotations

_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def ago(seconds: float) -> str:
    """`3 hours ago`; anything below a minute is `just now`."""
    return f"{_span(seconds)} ago" if seconds >= _SPANS[-1][0] else "just now"


def still(seconds: float) -> str:
    """`3 hours`; anything below a minute is `less than a minute`."""
    return _span(seconds) if seconds >= _SPANS[-1][0] else "less than a minute"


def _span(seconds: float) -> str:
    span, word = next(pair for pair in _SPANS if seconds >= pair[0])
    number = int(seconds // span)
    return f"{number} {word}{'' if number == 1 else 's'}"
