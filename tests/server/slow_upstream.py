"""A server whose tool says something, waits to be let go, and then answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.upstream.http_servers import Out, Seen


class SlowServer:
    """Of the newest revision; `calls` has the number of calls that were begun, `go` lets them end."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.is_waiting = asyncio.Event()
        self.called = asyncio.Event()
        self.was_cancelled = asyncio.Event()
        self.calls = 0

    async def __call__(self, seen: Seen, out: Out) -> None:
        if seen.rpc == "tools/call":
            await self._run(seen, out)
            return
        results: dict[str, Any] = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            "tools/list": {"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]},
        }
        await out.send(200, seen.answer({**results[seen.rpc], "resultType": "complete"}))

    async def _run(self, seen: Seen, out: Out) -> None:
        params = seen.message["params"]
        self.calls += 1
        self.called.set()
        await out.start()
        await self._tell(out, params, 1)
        self.is_waiting.set()
        await self._until_go(out)
        await self._tell(out, params, 2)
        said = params["arguments"].get("say", "done")
        await out.event(seen.answer({"content": [{"type": "text", "text": said}], "resultType": "complete"}))
        await out.end()

    async def _until_go(self, out: Out) -> None:
        """Wait, and notice a client that gives the call up meanwhile."""
        going, leaving = asyncio.create_task(self.go.wait()), asyncio.create_task(out.until_disconnect())
        await asyncio.wait({going, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not going.done():
            self.was_cancelled.set()
        for task in (going, leaving):
            task.cancel()
        await asyncio.gather(going, leaving, return_exceptions=True)

    async def _tell(self, out: Out, params: dict[str, Any], progress: int) -> None:
        told = {"progress": progress, "progressToken": params["_meta"].get("progressToken")}
        notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
        await out.event(json.dumps(notice).encode())
