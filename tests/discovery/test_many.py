"""Many servers at once, on a loop where minutes pass at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes import INSTANT, spec
from toolcrib.discovery.parallel import Slot, discover_each
from toolcrib.discovery.results import DiscoveredMCPTool, ServerOutcome
from toolcrib.errors import CallTimeout, ServerConnectionError
from toolcrib.model.server import ServerSpec


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


class Servers:
    """Each takes as long as `seconds` says and gives one tool of its own name; those in `broken` fail."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = seconds
        self.broken: set[str] = set()
        self.running = 0
        self.most_running = 0
        self.stopped: list[str] = []

    @property
    def specs(self) -> list[ServerSpec]:
        return [spec(name) for name in self.seconds]

    async def discover(self, config: ServerSpec, slot: Slot) -> list[DiscoveredMCPTool]:
        async with slot:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            try:
                await asyncio.sleep(self.seconds[config.name])
            except asyncio.CancelledError:
                self.stopped.append(config.name)
                raise
            finally:
                self.running -= 1
        if config.name in self.broken:
            raise ServerConnectionError("it is broken", server=config.name)
        return [DiscoveredMCPTool(config.name, "", None, None, {})]


def names(outcomes: list[ServerOutcome]) -> list[str]:
    return [tool.tool_name for outcome in outcomes for tool in outcome.tools]


async def test_the_outcomes_are_in_the_order_asked_for() -> None:
    servers = Servers(slow=9, fast=1, middle=4)
    outcomes = await discover_each(servers.specs, servers.discover, most_at_once=5)

    assert names(outcomes) == ["slow", "fast", "middle"]


async def test_never_more_than_allowed_are_under_way() -> None:
    servers = Servers(**{f"s{number}": 2 for number in range(20)})
    await discover_each(servers.specs, servers.discover, most_at_once=5)

    assert servers.most_running == 5


@pytest.mark.parametrize(
    ("count", "seconds", "most", "expected"), [(10, 2, 5, 4), (10, 2, 1, 20), (5, 1, 5, 1), (0, 1, 5, 0)]
)
async def test_the_time_is_what_arithmetic_says(count: int, seconds: float, most: int, expected: float) -> None:
    servers = Servers(**{f"s{number}": seconds for number in range(count)})
    loop = asyncio.get_running_loop()
    began = loop.time()
    await discover_each(servers.specs, servers.discover, most_at_once=most)

    assert loop.time() - began == pytest.approx(expected, abs=0.5)


async def test_a_server_that_fails_fails_alone() -> None:
    servers = Servers(one=1, broken=1, two=1)
    servers.broken = {"broken"}
    outcomes = await discover_each(servers.specs, servers.discover, most_at_once=1)

    assert names(outcomes) == ["one", "two"]
    assert [outcome.error and outcome.error.message for outcome in outcomes] == [None, "it is broken", None]


async def test_at_the_deadline_there_is_what_there_is() -> None:
    servers, heard = Servers(quick=1, hung=10_000, waiting=1), []
    outcomes = await discover_each(
        servers.specs, servers.discover, most_at_once=1, deadline_seconds=5, finished=heard.append
    )

    assert names(outcomes) == ["quick"]
    assert [type(outcome.error) for outcome in outcomes] == [type(None), CallTimeout, CallTimeout]
    assert heard == outcomes
    assert servers.stopped == ["hung"]
    assert servers.running == 0


async def test_one_who_gives_up_leaves_nothing_running() -> None:
    servers = Servers(one=10_000, two=10_000)
    asking = asyncio.create_task(discover_each(servers.specs, servers.discover, most_at_once=2))
    await asyncio.sleep(1)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)

    assert servers.running == 0
    assert sorted(servers.stopped) == ["one", "two"]


async def test_who_watches_hears_of_starts_and_ends() -> None:
    servers, heard = Servers(one=2, two=1), []
    await discover_each(
        servers.specs,
        servers.discover,
        most_at_once=1,
        started=lambda config: heard.append(f"{config.name} starts"),
        finished=lambda outcome: heard.append(f"{outcome.config.name} ends"),
    )

    assert heard == ["one starts", "one ends", "two starts", "two ends"]
