"""A client and a server of some era each, with the gateway between them, on one transport."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult

from tests.journeys.asking import Person
from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.http_upstream import everything_over_http
from tests.journeys.stdio_gateway import Workshop
from tests.servers.launch import Launch
from tests.servers.listening import free_port, listening

FEATURE_SERVER = Path(__file__).with_name("programs") / "feature_server.py"
ERAS = ("old", "new")
MODES = {"old": "legacy", "new": "auto"}
NOTICE_SECONDS = 8.0
# A busy machine must not make the gateway take a new server for an old one.
PROBE_SECONDS = 30


@dataclass
class Visitor:
    """A client of one era, the person in front of it, and everything it heard."""

    era: str
    person: Person
    logs: list[Any] = field(default_factory=list)
    notices: list[Any] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    client: Client = field(init=False)

    @property
    def options(self) -> dict[str, Any]:
        """What the SDK's client is given."""
        level = {} if self.era == "old" else {"log_level": "info"}
        return {
            **self.person.callbacks,
            **level,
            "logging_callback": self._logged,
            "message_handler": self._noticed,
            "name": f"{self.era}-client",
        }

    async def _logged(self, params: Any) -> None:
        self.logs.append(params.data)

    async def _noticed(self, message: Any) -> None:
        self.notices.append(message)
        self.news.set()

    async def heard(self, kind: type) -> Any:
        """The first notice of this kind."""
        async with asyncio.timeout(NOTICE_SECONDS):
            while not (found := [notice for notice in self.notices if isinstance(notice, kind)]):
                self.news.clear()
                await self.news.wait()
        return found[0]


@dataclass(frozen=True)
class Pairing:
    """One visitor and the servers of one era; `features` is ours, `everything` the well-known one, which is old."""

    visitor: Visitor
    era: str

    @property
    def client(self) -> Client:
        return self.visitor.client

    @property
    def name(self) -> str:
        return f"{self.visitor.era} client, {self.era} server"

    @property
    def features(self) -> str:
        return f"features-{self.era}"

    @property
    def main(self) -> str:
        """The server whose resources and prompts are looked at."""
        return "everything" if self.era == "old" else self.features

    async def execute(self, server: str, tool: str, /, **arguments: Any) -> CallToolResult:
        call = {"server": server, "tool": tool, "arguments": arguments}
        return await self.client.call_tool("execute_tool", call)

    async def said(self, server: str, tool: str, /, **arguments: Any) -> str:
        """The text of a result that is no failure."""
        result = await self.execute(server, tool, **arguments)
        text = "\n".join(str(getattr(block, "text", "")) for block in result.content)
        assert not result.is_error, text
        return text


@asynccontextmanager
async def all_pairings(
    transport: str, folder: Path, environment: Mapping[str, str], everything: Launch
) -> AsyncIterator[list[Pairing]]:
    """Each client era with each server era, all ready; one gateway for the clients, or on stdio one for each."""
    visitors = [Visitor(era, Person(f"{era}-person")) for era in ERAS]
    async with AsyncExitStack() as stack:
        if transport == "stdio":
            servers = {"everything": everything.entry(), **{f"features-{era}": _program(era) for era in ERAS}}
            opened = [_over_stdio(visitor, folder, environment, servers) for visitor in visitors]
        else:
            servers = await _served(stack, everything, environment)
            config = write_config(folder, servers, probeTimeout=PROBE_SECONDS, trust={"onChange": "warn"})
            gateway = await asyncio.to_thread(
                stack.enter_context, gateway_process(folder, config, environment, home=folder / "home")
            )
            opened = [connect(gateway, MODES[visitor.era], **visitor.options) for visitor in visitors]
        for visitor, opening in zip(visitors, opened, strict=True):
            visitor.client = await stack.enter_async_context(opening)
        yield [Pairing(visitor, era) for visitor in visitors for era in ERAS]


def _program(era: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(FEATURE_SERVER), era]}


@asynccontextmanager
async def _over_stdio(
    visitor: Visitor, folder: Path, environment: Mapping[str, str], servers: Mapping[str, Any]
) -> AsyncIterator[Client]:
    """A client on a machine of its own, where, as on any but the first day, it is known what servers have."""
    place = folder / visitor.era
    place.mkdir()
    workshop = Workshop(place, {**environment, "TOOLCRIB_HOME": str(place / "home")})
    workshop.configure(servers, probeTimeout=PROBE_SECONDS, trust={"onChange": "warn"})
    command = [*workshop.command[:-1], "warm"]
    reading = await asyncio.create_subprocess_exec(*command, env=workshop.environment, stdout=subprocess.DEVNULL)
    assert await reading.wait() == 0
    async with workshop.client(MODES[visitor.era], **visitor.options) as client:
        yield client


async def _served(stack: AsyncExitStack, everything: Launch, environment: Mapping[str, str]) -> dict[str, Any]:
    """The entries of the same servers, each a process that listens on a port."""
    old = await asyncio.to_thread(stack.enter_context, everything_over_http(everything, "streamableHttp"))
    entries: dict[str, Any] = {"everything": old.streamable}
    for era in ERAS:
        port = free_port()
        program = Launch(sys.executable, (str(FEATURE_SERVER), era, str(port)))
        await stack.enter_async_context(listening(program, port, environment))
        entries[f"features-{era}"] = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}
    return entries
