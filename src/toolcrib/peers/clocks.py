"""How far the clocks of two machines may be apart."""

from __future__ import annotations

from toolcrib.errors import PeerRefused

SKEW_SECONDS = 300
# No time of any machine: larger numbers only mean trouble for those who count with them.
LATEST = 10**11


def check_clock(made: int, ends: int, now: float) -> None:
    """Raises PeerRefused for what was signed too long ago, or in the future."""
    if made - SKEW_SECONDS <= now <= ends + SKEW_SECONDS:
        return
    when = f"{round(now - made)} seconds ago" if made < now else f"{round(made - now)} seconds from now"
    raise PeerRefused(
        f"by the clock of this machine it was signed {when}",
        reason="clock",
        hint="Set the clocks of both machines; they may be five minutes apart.",
    )
