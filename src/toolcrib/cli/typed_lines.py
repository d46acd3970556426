"""Lines that a person types, waited for in such a way that the wait can be broken off."""

from __future__ import annotations

import asyncio
import os

# As much as a terminal hands over at once.
_READ_BYTES = 4_096


class TypedLines:
    """Reads a terminal on the event loop: a thread that reads would go on to take lines after the command has ended."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._read = b""

    async def next(self) -> str | None:
        """One line without its end; None where the person has ended their input."""
        while b"\n" not in self._read:
            data = await self._some()
            if not data:
                return None
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    async def _some(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(self._descriptor, lambda: None if ready.done() else ready.set_result(None))
        except NotImplementedError:  # on Windows; there no engine runs commands, and the process ends with its threads
            return await asyncio.to_thread(os.read, self._descriptor, _READ_BYTES)
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, _READ_BYTES)
