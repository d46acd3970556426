"""A client that counts: of each of its requests it knows how often it was answered, and with what."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_types.version import LATEST_HANDSHAKE_VERSION

from bench.driver import CLIENT, MODERN_META, Era

MOST_LINE_BYTES = 32 * 1024 * 1024


class ClientGone(Exception):
    """The client was killed, so nobody waits for its answers any more."""


class ProcessEnded(Exception):
    """What the client started has ended though nobody asked it to."""


class CountingClient:
    """One MCP client on the pipes of a process that it started."""

    def __init__(self, process: asyncio.subprocess.Process, era: Era) -> None:
        self.era = era
        self.is_killed = False
        self.answered: Counter[int] = Counter()
        self.broken_lines = 0
        self._process = process
        self._transport = process._transport  # noqa: SLF001 (no other way to close the pipe that we read)
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def started(cls, command: Sequence[str], env: Mapping[str, str], era: Era) -> CountingClient:
        """A client that has said hello."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            limit=MOST_LINE_BYTES,
        )
        client = cls(process, era)
        if era == "legacy":
            opening = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": CLIENT}
            await client.ask("initialize", opening)
            client._send({"method": "notifications/initialized"})
        return client

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The first answer to a request; ClientGone where this client is killed meanwhile."""
        if self.is_killed:
            raise ClientGone
        id = next(self._ids)
        self.answered[id] = 0
        self._waiting[id] = asyncio.get_running_loop().create_future()
        dressed = {**params, "_meta": MODERN_META} if self.era == "modern" else dict(params)
        self._send({"id": id, "method": method, "params": dressed})
        return await self._waiting[id]

    async def kill(self, *, connector: bool) -> None:
        """End at once: with kill -9 what we started, or be gone ourselves and leave it to notice."""
        self.is_killed = True
        self._give_up(ClientGone())
        if connector:
            self._process.kill()
        else:
            self._close()
            self._transport.get_pipe_transport(1).close()
        await self._ended()

    async def leave(self) -> int:
        """Close our side as a client that is done; the exit code, once everything that was said is read."""
        self._close()
        return await self._ended()

    def _close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def _ended(self) -> int:
        await self._reading
        self._close()
        return await self._process.wait()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._take(line)
        self._give_up(ProcessEnded())

    def _give_up(self, reason: Exception) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(reason)
                future.exception()  # nobody may be waiting for it

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self.broken_lines += 1
            return
        if "method" in message:
            return
        self.answered[message["id"]] += 1
        future = self._waiting.get(message["id"])
        if future is not None and not future.done():
            future.set_result(message)
