"""How long ago something was, or how long it will take, in words."""

from __future__ import annotations

_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def ago(seconds: float) -> str:
    """`3 hours ago`; anything below a minute is `just now`."""
    return f"{_span(seconds)} ago" if seconds >= _SPANS[-1][0] else "just now"


def still(seconds: float) -> str:
    """`3 hours`, to the nearest; anything below a minute is `less than a minute`."""
    minute = _SPANS[-1][0]
    if seconds < minute:
        return "less than a minute"
    # Of 90 days some milliseconds have passed before anybody looks.
    seconds = round(seconds / minute) * minute
    span = next(span for span, _ in _SPANS if seconds >= span)
    return _span(round(seconds / span) * span)


def _span(seconds: float) -> str:
    span, word = next(pair for pair in _SPANS if seconds >= pair[0])
    number = int(seconds // span)
    return f"{number} {word}{'' if number == 1 else 's'}"
