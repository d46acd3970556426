"""What a plain HTTP GET brought."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """Status and body; `is_cut` when the body went over the limit and the rest was not read."""

    status: int
    body: bytes = b""
    etag: str = ""
    retry_after_seconds: float | None = None
    is_cut: bool = False
