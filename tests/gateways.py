"""Gateways with the real wiring and a real catalog on disk, over servers in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.fakes import FakeServer, FakeServers, spec
from toolcrib import Gateway, Settings, open_gateway


@asynccontextmanager
async def counter(*servers: FakeServer, **settings: Any) -> AsyncIterator[Gateway]:
    """A gateway in front of these servers; `servers=` configures others than those that can be reached."""
    specs = settings.pop("servers", tuple(spec(server.name) for server in servers))
    configured = Settings(servers=specs, **settings)
    async with asyncio.timeout(30), open_gateway(settings=configured, opener=FakeServers(*servers)) as gateway:
        yield gateway


@asynccontextmanager
async def read_counter(*servers: FakeServer, **settings: Any) -> AsyncIterator[Gateway]:
    """The same, once each server was asked for its tools."""
    async with counter(*servers, **settings) as gateway:
        for server in servers:
            await gateway.list_tools(server.name)
        yield gateway
