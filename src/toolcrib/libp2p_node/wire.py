"""Lines of JSON between the engine and this process."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import trio


class Wire:
    """Reads in a thread, so that it works with any kind of pipe; `read` gives None once the engine has gone."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._writing = trio.Lock()

    async def read(self) -> dict[str, Any] | None:
        line = await trio.to_thread.run_sync(self._source.readline, abandon_on_cancel=True)
        return json.loads(line) if line else None

    async def send(self, kind: str, **values: Any) -> None:
        line = json.dumps({"kind": kind, **values}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        async with self._writing:
            await trio.to_thread.run_sync(self._write, line)

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[self._sink.write(left) :]
