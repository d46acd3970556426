"""How a connection between peers ends when the other machine is gone without a word: unplugged, asleep, or moved."""

from __future__ import annotations

import socket

# A quiet connection is probed after this, so often, and so long apart; then it is over.
_QUIET_SECONDS = 6
_PROBES = 3
_PROBE_SECONDS = 2
# The same for something that was sent and that nobody acknowledges; otherwise the system tries for a quarter of an hour.
_UNHEARD_MILLISECONDS = 1000 * (_QUIET_SECONDS + _PROBES * _PROBE_SECONDS)
# By the names that systems have for them; one that is missing is left to the system.
_OPTIONS = {
    "TCP_KEEPIDLE": _QUIET_SECONDS,
    "TCP_KEEPALIVE": _QUIET_SECONDS,
    "TCP_KEEPINTVL": _PROBE_SECONDS,
    "TCP_KEEPCNT": _PROBES,
    "TCP_USER_TIMEOUT": _UNHEARD_MILLISECONDS,
}

SocketOption = tuple[int, int, int]


def keepalive_options() -> list[SocketOption]:
    """For `setsockopt` of each connection."""
    known = [(getattr(socket, name, None), value) for name, value in _OPTIONS.items()]
    options = [(socket.IPPROTO_TCP, option, value) for option, value in known if option is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *options]
