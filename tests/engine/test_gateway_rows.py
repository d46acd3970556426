from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from tests.catalogs import FailingCatalog
from tests.fakes import eventually
from toolcrib.catalog.store import NO_USERS, GatewayRow, Users
from toolcrib.engine.own_row import OwnGatewayRow
from toolcrib.storage.memory import MemoryCatalog


def nobody() -> Mapping[str, str]:
    return {}


async def test_a_gateway_is_entered_while_it_runs_and_gone_afterwards() -> None:
    store = MemoryCatalog()
    own_row = OwnGatewayRow(store, "us", "stdio", nobody)

    await own_row.start()
    (row,) = store.gateways()
    await own_row.close()

    assert (row.owner, row.pid, row.face) == ("us", os.getpid(), "stdio")
    assert store.gateways() == []


async def test_the_row_is_kept_fresh_with_how_servers_stand() -> None:
    store = MemoryCatalog()
    own_row = OwnGatewayRow(store, "us", "stdio", lambda: {"files": "connected"}, beat_seconds=0.01)

    await own_row.start()
    await eventually(lambda: store.gateways()[0].statuses)
    (row,) = store.gateways()
    await own_row.close()

    assert row.statuses == {"files": "connected"}
    assert row.seen_at > row.started_at


async def test_rows_and_leases_of_killed_gateways_are_cleared_and_those_of_living_ones_stay() -> None:
    store = MemoryCatalog()
    finished = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await finished.wait()
    store.gateway_started(GatewayRow("killed", finished.pid, "stdio", 1.0, 1.0))
    store.gateway_started(GatewayRow("alive", os.getppid(), "stdio", 2.0, 2.0))
    store.gateway_started(GatewayRow("not ours", 1, "stdio", 3.0, 3.0))
    store.try_lease("files", "killed", 0.0, 1e9)
    own_row = OwnGatewayRow(store, "us", "http", nobody)

    await own_row.start()
    owners = [row.owner for row in store.gateways()]
    await own_row.close()

    assert owners == ["alive", "not ours", "us"]
    assert store.try_lease("files", "us", 0.0, 1.0)


async def test_a_catalog_that_can_not_be_written_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    store = FailingCatalog("gateway_started", "gateway_seen", "gateway_gone")
    own_row = OwnGatewayRow(store, "us", "stdio", nobody, beat_seconds=0.01)

    with caplog.at_level(logging.DEBUG, logger="toolcrib"):
        await own_row.start()
        await eventually(lambda: store.failures > 3)
        await own_row.close()

    assert "the disk is gone" in caplog.text


async def test_an_error_that_nobody_foresaw_does_not_end_it_for_good(caplog: pytest.LogCaptureFixture) -> None:
    class Strained(MemoryCatalog):
        def gateway_seen(self, owner: str, at: float, statuses: Mapping[str, str], users: Users = NO_USERS) -> None:
            if len(caplog.records) < 2:
                raise RuntimeError("can't start new thread")
            super().gateway_seen(owner, at, statuses, users)

    store = Strained()
    own_row = OwnGatewayRow(store, "us", "stdio", lambda: {"files": "connected"}, beat_seconds=0.01)

    await own_row.start()
    await eventually(lambda: store.gateways()[0].statuses)
    await own_row.close()

    assert "can't start new thread" in caplog.text
    assert "Traceback" not in caplog.text


async def test_closing_what_never_started_is_harmless() -> None:
    catalog = MemoryCatalog()

    await OwnGatewayRow(catalog, "us", "stdio", nobody).close()

    assert catalog.gateways() == []


@pytest.fixture
def gateway() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process


def kill_and_leave(gateway: subprocess.Popen[bytes]) -> None:
    """As by a client that does not care what became of it: its number stays taken."""
    gateway.kill()
    os.waitid(os.P_PID, gateway.pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="the system has no such processes")
@pytest.mark.parametrize("when", ["before our start", "while we run"])
async def test_the_lease_of_a_killed_gateway_that_nobody_waited_for_is_taken_over(
    gateway: subprocess.Popen[bytes], when: str
) -> None:
    store = MemoryCatalog()
    own_row = OwnGatewayRow(store, "us", "stdio", nobody, beat_seconds=0.01)
    store.gateway_started(GatewayRow("killed", gateway.pid, "stdio", 1.0, 1.0))
    store.try_lease("files", "killed", 0.0, 1e9)
    if when == "while we run":
        await own_row.start()
        assert not store.try_lease("files", "us", 0.0, 1e9)
    kill_and_leave(gateway)
    if when == "before our start":
        await own_row.start()

    await eventually(lambda: store.try_lease("files", "us", 0.0, 1e9))
    await own_row.close()
