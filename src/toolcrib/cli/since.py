"""The moments that `--since` and `--expires` name."""

from __future__ import annotations

import re
from datetime import datetime

from toolcrib.errors import ValidationError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(\d{1,6})([smhdw])")


def moment(text: str, now: float) -> float:
    """`2h`, `30m` or `2d` before now, or a date or time as ISO 8601 writes it, local unless it names its zone."""
    found = _moment(text, now, -1)
    if found is None:
        raise ValidationError(
            f"--since: expected a span such as 30m, 2h or 7d, or a time such as 2026-11-16T09:30; found {text!r}"
        )
    if found > now:
        raise ValidationError(f"--since: {text!r} is in the future")
    return max(0.0, found)


def deadline(text: str, now: float) -> float:
    """`90d` or `12h` from now, or a date or time."""
    found = _moment(text, now, 1)
    if found is None:
        raise ValidationError(
            f"--expires: expected a span such as 12h or 90d, or a date such as 2027-01-31; found {text!r}"
        )
    if found <= now:
        raise ValidationError(f"--expires: {text!r} is in the past")
    return found


def _moment(text: str, now: float, direction: int) -> float | None:
    span = _SPAN.fullmatch(text.strip())
    try:
        if span:
            return now + direction * int(span[1]) * _SECONDS[span[2]]
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
