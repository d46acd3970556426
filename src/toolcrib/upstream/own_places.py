"""Files and folders of Toolcrib itself, which no server in a sandbox may make use of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class OwnPlaces:
    """As they are named; they may be links, and need not be there."""

    # Folders with secrets, and with sockets by which anything can be started.
    hidden: tuple[Path, ...] = ()
    # Folders inside of these that have programs of servers.
    programs: tuple[Path, ...] = ()
    # Files and folders that decide what is started; a server may read them.
    fixed: tuple[Path, ...] = ()
