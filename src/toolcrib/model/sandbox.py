"""What a server may reach that runs in a sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Network = Literal["none", "all"]
NETWORKS: tuple[Network, ...] = ("none", "all")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Paths besides its own program, the system's and a temporary home; values may hold `${NAME}` until the launch."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: Network = "none"
    # With no network: the hosts that are reached over https all the same, `host` or `host:port`.
    hosts: tuple[str, ...] = ()
