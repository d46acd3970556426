"""A server reached over the standard streams of a child process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from toolcrib.upstream.child import Child
from toolcrib.upstream.link import LinkEars
from toolcrib.upstream.mux import Mux
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.watchdog import Watchdog
from toolcrib.wire.jsonrpc import Json, RpcError

# Their results go on to a caller as they are, and may be longer than anything we look into ourselves.
_RELAYED = frozenset({"tools/call"})


class StdioLink:
    """A `Link` to a child process; made by `open`. A line too long for us closes it: whose answer it was is unknown."""

    attributes = False

    def __init__(self, server: str, ears: LinkEars, max_line_bytes: int, max_result_bytes: int) -> None:
        self._mux = Mux(server, self._send, ears)
        self._max_line_bytes = max_line_bytes
        self._max_result_bytes = max_result_bytes
        self._relayed: set[int] = set()
        self._child: asyncio.Future[Child] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(
        cls,
        server: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        *,
        ears: LinkEars,
        stderr: StderrRing,
        watchdog: Watchdog,
        max_line_bytes: int,
        max_result_bytes: int = 0,
    ) -> StdioLink:
        """Start the server; raises ServerConnectionError where it cannot start.

        While a result is awaited that is relayed, a line may have `max_result_bytes`, if that is more.
        """
        link = cls(server, ears, max_line_bytes, max(max_line_bytes, max_result_bytes))
        link._child.set_result(
            await Child.spawn(
                argv,
                server=server,
                env=env,
                cwd=cwd,
                on_line=link._mux.feed,
                on_exit=link._mux.closed,
                stderr=stderr,
                watchdog=watchdog,
                max_line_bytes=max_line_bytes,
            )
        )
        return link

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> Json:  # noqa: ARG002
        if method not in _RELAYED:
            return await self._mux.request(id, method, params)
        await self._take_long_lines(id)
        try:
            answer = await self._mux.request(id, method, params)
        except RpcError:
            await self._has_answered(id)
            raise
        await self._has_answered(id)
        return answer

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:  # noqa: ARG002
        await self._mux.notify(method, params)

    async def wait_closed(self) -> str:
        return await self._mux.wait_closed()

    async def close(self) -> None:
        await (await self._child).stop()

    async def _take_long_lines(self, id: int) -> None:
        # Until it has answered this request; one that was given up may still be answered.
        self._relayed.add(id)
        (await self._child).take_lines_of(self._max_result_bytes)

    async def _has_answered(self, id: int) -> None:
        self._relayed.discard(id)
        if not self._relayed:
            (await self._child).take_lines_of(self._max_line_bytes)

    async def _send(self, line: bytes) -> None:
        await (await self._child).write(line)
