"""A server reached over the standard streams of a child process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from toolcrib.upstream.child import Child
from toolcrib.upstream.link import NotificationHandler
from toolcrib.upstream.mux import Mux
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.watchdog import Guard
from toolcrib.wire.jsonrpc import Json


class StdioLink:
    """A `Link` to a child process; made by `open`. A line too long for us closes it: whose answer it was is unknown."""

    def __init__(self, server: str, on_notification: NotificationHandler) -> None:
        self._mux = Mux(server, self._send, on_notification)
        self._child: asyncio.Future[Child] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(
        cls,
        server: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        *,
        on_notification: NotificationHandler,
        stderr: StderrRing,
        guard: Guard,
        max_line_bytes: int,
    ) -> StdioLink:
        """Start the server; raises ServerConnectionError where it cannot start."""
        link = cls(server, on_notification)
        link._child.set_result(
            await Child.spawn(
                argv,
                server=server,
                env=env,
                cwd=cwd,
                on_line=link._mux.feed,
                on_exit=link._mux.closed,
                stderr=stderr,
                guard=guard,
                max_line_bytes=max_line_bytes,
            )
        )
        return link

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> Json:  # noqa: ARG002
        return await self._mux.request(id, method, params)

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:  # noqa: ARG002
        await self._mux.notify(method, params)

    async def wait_closed(self) -> str:
        return await self._mux.wait_closed()

    async def close(self) -> None:
        await (await self._child).stop()

    async def _send(self, line: bytes) -> None:
        await (await self._child).write(line)
