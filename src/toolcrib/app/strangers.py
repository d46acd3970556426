"""Reads a server once that nobody has approved: within the outbound rules, with no token, and not for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from toolcrib.errors import CallTimeout
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.upstream.connection import ConnectionPolicy, OpenLink
from toolcrib.upstream.outbound import check_outbound
from toolcrib.upstream.pool import Pool


class Strangers:
    """Fulfils `StrangerReader`; the connection is closed before it returns."""

    def __init__(
        self,
        open_link: OpenLink,
        policy: Callable[[], ConnectionPolicy],
        configured: Callable[[], Mapping[str, ServerSpec]],
        *,
        seconds: float,
    ) -> None:
        self._open_link = open_link
        self._policy = policy
        self._configured = configured
        self._seconds = seconds

    async def read(self, spec: ServerSpec) -> ServerReading:
        assert isinstance(spec.launch, RemoteLaunch), "a program of a stranger is never started"
        try:
            async with asyncio.timeout(self._seconds):
                await check_outbound(spec.launch.url, self._configured())
                return await self._visit(spec)
        except TimeoutError:
            raise CallTimeout(f"no answer within {self._seconds:g} s", server=spec.name) from None

    async def _visit(self, spec: ServerSpec) -> ServerReading:
        policy = self._policy()
        pool = Pool(
            self._open_link, policy, known_identity=_unknown, on_connected=_ignored, on_tools_changed=lambda _: None
        )
        try:
            await pool.configure([spec], policy)
            return await pool.read(spec.name)
        finally:
            await pool.close()


def _unknown(_: str) -> None:
    return None


def _ignored(_: str, __: Identity) -> None:
    """Nobody waits for this connection."""
