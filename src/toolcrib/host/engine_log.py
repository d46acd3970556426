"""The log file of an engine: everything its process says, and not more than fits two files."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

MOST_BYTES = 2_000_000
LOOK_SECONDS = 600.0


class EngineLog:
    """Takes what goes to standard output and error; what is too old is kept in one file beside it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def open(self) -> None:
        """From here on everything that this process says goes to the file."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.close(descriptor)
        self.trim()

    def trim(self) -> None:
        """Begin anew where the file has grown too long; whoever writes to it goes on in the same file."""
        if self._file.stat().st_size > MOST_BYTES:
            shutil.copyfile(self._file, self._file.with_name(f"{self._file.name}.1"))
            os.truncate(self._file, 0)

    async def keep_short(self) -> None:
        """Trim it now and then, for as long as this runs."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await asyncio.to_thread(self.trim)
