"""How long ago something was, in words."""

from __future__ import annotations

_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def ago(seconds: float) -> str:
    """`3 hours ago`; anything below a minute is `just now`."""
    for span, word in _SPANS:
        if seconds >= span:
            number = int(seconds // span)
            return f"{number} {word}{'' if number == 1 else 's'} ago"
    return "just now"
