from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.catalogs import FailingCatalog
from tests.fakes import Clock, eventually, spec, tool
from tests.showroom import Showroom
from toolcrib.catalog.freshness import FIRST_RETRY_SECONDS, Freshness
from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.discovery.journal import MOST_REASON_CHARACTERS
from toolcrib.discovery.leases import LEASE_SECONDS
from toolcrib.discovery.refresher import COALESCE_SECONDS, CatalogRefresher
from toolcrib.discovery.slots import Turns
from toolcrib.errors import CallTimeout, ServerConnectionError, UpstreamError
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.memory import MemoryCatalog

IDENTITY = Identity("modern", "2026-07-28", {"name": "files", "version": "1.0"})


class FakeReader:
    """Reads whatever it was told to; each server's reading waits for its gate, if it has one."""

    def __init__(self) -> None:
        self.tools: dict[str, list[dict[str, Any]]] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.again: dict[str, asyncio.Event] = {}
        self.reads: list[str] = []
        self.running: set[str] = set()
        self.most_running = 0
        self.during: Callable[[str], Awaitable[None]] | None = None

    async def read(self, spec: ServerSpec, slot: Any) -> ServerReading:
        try:
            async with slot:
                return await self._attempt(spec.name)
        except ServerConnectionError:
            if (again := self.again.pop(spec.name, None)) is None:
                raise
        await again.wait()
        return await self.read(spec, slot)

    async def _attempt(self, server: str) -> ServerReading:
        self.reads.append(server)
        self.running.add(server)
        self.most_running = max(self.most_running, len(self.running))
        try:
            await asyncio.sleep(0)
            if self.during is not None:
                await self.during(server)
            if server in self.gates:
                await self.gates[server].wait()
        finally:
            self.running.discard(server)
        if server not in self.tools:
            may_pass = server in self.again
            raise ServerConnectionError(f"{server} did not start", server=server, retryable=may_pass)
        return ServerReading(IDENTITY, tuple(self.tools[server]), warnings=("an entry without a name was skipped",))


class Crew:
    """One gateway's discovery over a catalog that others may share."""

    def __init__(self, *servers: str, store: CatalogStore | None = None, owner: str = "us", **more: Any) -> None:
        self.clock = Clock()
        self.store = store or MemoryCatalog()
        self.reader = FakeReader()
        self.reader.tools = {server: [tool("read")] for server in servers}
        self.showroom = Showroom(*map(spec, servers), store=self.store, clock=self.clock)
        self.catalog, self.view = self.showroom.catalog, self.showroom.view
        self.catalog.want(self.specs_shown)
        options = {"max_parallel": 5, "freshness": Freshness(), **more}
        self.refresher = CatalogRefresher(self.catalog, self.reader, self.specs, owner=owner, **options)

    def specs_shown(self) -> list[ServerSpec]:
        return list(self.view.specs.values())

    def specs(self) -> dict[str, ServerSpec]:
        return {one.launch_key: one for one in self.view.specs.values()}

    @property
    def is_idle(self) -> bool:
        return not self.refresher._tasks

    @property
    def pending(self) -> int:
        return self.refresher.pending(self.view.specs)

    def spec(self, server: str) -> ServerSpec:
        return self.view.specs[server]

    def records(self) -> dict[str, ServerRecord]:
        """What the catalog on disk has, by the names of servers."""
        return {record.name: record for record in self.store.servers().values()}

    async def save(self, server: str, *definitions: dict[str, Any]) -> None:
        await self.catalog.save_reading(self.spec(server), ServerReading(IDENTITY, definitions))

    async def fail(self, server: str, error: str) -> None:
        await self.catalog.save_failure(self.spec(server), error, "")


@asynccontextmanager
async def crew(*servers: str, **more: Any) -> AsyncIterator[Crew]:
    made = Crew(*servers, **more)
    try:
        yield made
    finally:
        await made.refresher.close()


async def need(made: Crew, server: str) -> None:
    async with asyncio.timeout(10):
        await made.refresher.need(made.spec(server))


# -- in the background


async def test_only_servers_that_are_due_are_read() -> None:
    async with crew("a", "b") as us:
        await us.save("a", tool("read"))
        await us.catalog.follow()

        us.refresher.refresh_due()
        await eventually(lambda: us.is_idle)

        assert us.reader.reads == ["b"]
        assert list(us.view.tools("b")) == ["read"]


async def test_no_more_servers_than_allowed_are_read_at_a_time() -> None:
    names = [f"s{number}" for number in range(20)]

    async with crew(*names, max_parallel=5) as us:
        go_on = asyncio.Event()
        us.reader.gates = dict.fromkeys(names, go_on)
        us.refresher.refresh_due()
        assert us.pending == 20
        await eventually(lambda: len(us.reader.running) == 5)
        go_on.set()
        await eventually(lambda: us.is_idle)

        assert (us.reader.most_running, sorted(us.reader.reads)) == (5, sorted(names))
        assert us.pending == 0


async def test_a_server_somebody_waits_for_does_not_queue_behind_hung_ones() -> None:
    async with crew("hung1", "hung2", "healthy", max_parallel=2) as us:
        us.reader.gates = {"hung1": asyncio.Event(), "hung2": asyncio.Event()}
        us.refresher.refresh_due()
        await eventually(lambda: len(us.reader.running) == 2)

        await need(us, "healthy")

        assert list(us.view.tools("healthy")) == ["read"]
        assert us.reader.running == {"hung1", "hung2"}


async def test_one_asked_for_first_is_not_made_to_queue_either() -> None:
    async with crew("hung", "healthy", max_parallel=1) as us:
        us.reader.gates = {"hung": asyncio.Event()}
        us.refresher.refresh(us.spec("hung"))
        await eventually(lambda: us.reader.running)

        await need(us, "healthy")

        assert us.view.was_read("healthy")


async def test_after_hurrying_the_limit_holds_again() -> None:
    names = [f"s{number}" for number in range(6)]

    async with crew("hung", "healthy", *names, max_parallel=1) as us:
        us.reader.gates = {"hung": asyncio.Event()}
        us.refresher.refresh(us.spec("hung"))
        await eventually(lambda: us.reader.running)
        await need(us, "healthy")
        us.reader.gates["hung"].set()
        await eventually(lambda: us.is_idle)
        us.reader.most_running = 0

        us.refresher.refresh_due()
        await eventually(lambda: us.is_idle)

        assert us.reader.most_running == 1


async def test_a_server_that_waits_to_be_tried_again_keeps_nobody_waiting() -> None:
    async with crew("moody", "a", "b", max_parallel=1) as us:
        again = us.reader.again["moody"] = asyncio.Event()
        tools = us.reader.tools.pop("moody")
        us.refresher.refresh_due()
        await eventually(lambda: us.view.was_read("a") and us.view.was_read("b"))
        assert not us.view.was_read("moody")

        us.reader.tools["moody"] = tools
        again.set()
        await eventually(lambda: us.is_idle)

        assert us.reader.reads == ["moody", "a", "b", "moody"]
        assert us.reader.most_running == 1


async def test_closing_stops_readings_that_run_and_readings_that_wait() -> None:
    async with crew("a", "b", "c", max_parallel=1) as us:
        us.reader.gates = {name: asyncio.Event() for name in "abc"}
        us.refresher.refresh_due()
        await eventually(lambda: us.reader.running)

        await us.refresher.close()

        assert us.reader.reads == ["a"]
        assert us.reader.running == set()
        assert us.refresher.refresh(us.spec("a")) is None
        us.refresher.changed(us.spec("a"))
        assert us.store.try_lease(us.spec("a").launch_key, "another", us.clock(), 1.0)


async def test_a_turn_handed_to_one_that_just_left_is_handed_on() -> None:
    turns = Turns(1)
    await turns.take("a")
    left = asyncio.create_task(turns.take("left"))
    next_one = asyncio.create_task(turns.take("next"))
    await asyncio.sleep(0)

    turns.give_back("a")
    left.cancel()

    await asyncio.wait_for(next_one, 1)
    assert left.cancelled()
    turns.give_back("next")
    await asyncio.wait_for(turns.take("last"), 1)


# -- on need


async def test_a_server_never_read_is_read_when_someone_looks() -> None:
    async with crew("a") as us:
        await asyncio.gather(*(need(us, "a") for _ in range(20)))

        assert us.reader.reads == ["a"]
        assert list(us.view.tools("a")) == ["read"]


async def test_a_server_that_was_read_is_not_read_again() -> None:
    async with crew("a") as us:
        await need(us, "a")
        await need(us, "a")

        assert us.reader.reads == ["a"]


async def test_a_server_that_nobody_shows_is_not_read() -> None:
    async with crew("a") as us:
        await us.refresher.need(spec("nobody"))

        assert us.reader.reads == []


async def test_an_old_entry_is_answered_from_at_once_and_renewed_behind_the_answer() -> None:
    async with crew("a") as us:
        await need(us, "a")
        us.reader.tools["a"] = [tool("new")]
        us.reader.gates["a"] = asyncio.Event()
        us.clock.advance(25 * 3600)

        await need(us, "a")
        assert list(us.view.tools("a")) == ["read"]
        us.reader.gates["a"].set()
        await eventually(lambda: list(us.view.tools("a")) == ["new"])


async def test_without_a_cache_a_server_is_read_at_the_first_need_of_each_gateway() -> None:
    store = MemoryCatalog()
    async with crew("a", store=store) as before:
        await need(before, "a")

    async with crew("a", store=store, always_reread=True) as us:
        us.reader.tools["a"] = [tool("new")]
        await us.catalog.follow()
        assert list(us.view.tools("a")) == ["read"]
        await need(us, "a")
        assert list(us.view.tools("a")) == ["new"]
        await need(us, "a")
        assert us.reader.reads == ["a"]


async def test_giving_up_waiting_does_not_stop_the_reading() -> None:
    async with crew("a") as us:
        us.reader.gates["a"] = asyncio.Event()
        waiting = asyncio.create_task(us.refresher.need(us.spec("a")))
        await eventually(lambda: us.reader.running)

        waiting.cancel()
        us.reader.gates["a"].set()
        await eventually(lambda: us.is_idle)

        assert us.view.was_read("a")


async def test_settling_ends_with_the_first_tools() -> None:
    async with crew("fast", "slow", "broken") as us:
        del us.reader.tools["broken"]
        us.reader.gates = {"slow": asyncio.Event(), "fast": asyncio.Event()}
        us.refresher.refresh_due()
        settling = asyncio.create_task(us.refresher.settle(10, lambda: bool(us.view.tool_count())))
        await eventually(lambda: us.refresher.unread_failure(us.spec("broken")))
        assert not settling.done()
        us.reader.gates["fast"].set()

        await settling

        assert us.view.was_read("fast")
        assert us.pending == 1


async def test_settling_ends_with_the_time_or_where_there_is_nothing_to_wait_for() -> None:
    async with crew("slow") as us:
        us.reader.gates["slow"] = asyncio.Event()
        await us.refresher.settle(10, lambda: bool(us.view.tool_count()))
        us.refresher.refresh_due()
        await us.refresher.settle(0.01, lambda: bool(us.view.tool_count()))
        assert us.pending == 1


# -- failures


async def test_a_failure_is_recorded_and_the_old_tools_stay() -> None:
    async with crew("a") as us:
        await need(us, "a")
        del us.reader.tools["a"]

        us.refresher.refresh(us.spec("a"))
        await eventually(lambda: us.is_idle)

        assert us.view.record("a").error == "a did not start"
        assert list(us.view.tools("a")) == ["read"]
        assert us.refresher.unread_failure(us.spec("a")) is None


async def test_a_server_that_can_not_be_read_says_why_until_it_can() -> None:
    async with crew("a") as us:
        tools = us.reader.tools.pop("a")

        await need(us, "a")
        assert us.refresher.failure(us.spec("a")).message == "a did not start"
        us.reader.tools["a"] = tools
        await need(us, "a")
        assert us.refresher.failure(us.spec("a")) is None
        assert us.reader.reads == ["a", "a"]


async def test_an_error_that_nobody_foresaw_is_recorded_as_a_failure_of_that_server() -> None:
    async def spoil(server: str) -> None:
        raise ValueError(server)

    async with crew("a") as us:
        us.reader.during = spoil
        with pytest.raises(UpstreamError, match="failed inside the gateway: ValueError"):
            await us.refresher.read_now(us.spec("a"))
        assert us.records()["a"].error == "reading it failed inside the gateway: ValueError"


async def test_whoever_wants_a_server_read_now_is_not_content_with_a_reading_that_began_before() -> None:
    """What that one has listed already may have changed since."""
    async with crew("a") as us:
        us.reader.gates["a"] = asyncio.Event()
        us.refresher.refresh(us.spec("a"))
        await eventually(lambda: us.reader.running)

        asked = [asyncio.create_task(us.refresher.read_now(us.spec("a"))) for _ in range(3)]
        await asyncio.sleep(0)
        us.reader.gates["a"].set()
        await asyncio.gather(*asked)

        assert us.reader.reads == ["a", "a"]
        assert us.is_idle


async def test_a_reading_that_waits_for_its_turn_is_as_good_as_a_new_one() -> None:
    async with crew("a", "b", max_parallel=1) as us:
        us.reader.gates["a"] = asyncio.Event()
        us.refresher.refresh(us.spec("a"))
        us.refresher.refresh(us.spec("b"))
        await eventually(lambda: us.reader.running)

        asked = asyncio.create_task(us.refresher.read_now(us.spec("b")))
        await asyncio.sleep(0)
        us.reader.gates["a"].set()
        await asked

        assert us.reader.reads.count("b") == 1


async def test_whoever_waits_hears_of_the_first_failure_and_further_attempts_are_made_behind_the_answer() -> None:
    async with crew("moody") as us:
        again = us.reader.again["moody"] = asyncio.Event()
        tools = us.reader.tools.pop("moody")

        await need(us, "moody")
        assert us.refresher.unread_failure(us.spec("moody")).message == "moody did not start"
        await need(us, "moody")
        assert us.reader.reads == ["moody"]
        us.reader.tools["moody"] = tools
        again.set()
        await eventually(lambda: us.is_idle)

        assert us.refresher.failure(us.spec("moody")) is None
        assert list(us.view.tools("moody")) == ["read"]


async def test_a_server_that_can_not_be_read_is_tried_anew_in_the_background_until_it_can() -> None:
    async with crew("a", freshness=Freshness(longest_retry_seconds=0.01)) as us:
        tools = us.reader.tools.pop("a")

        us.refresher.refresh_due()
        await eventually(lambda: len(us.reader.reads) > 3)
        us.reader.tools["a"] = tools
        await eventually(lambda: us.view.was_read("a"))
        reads = len(us.reader.reads)

        assert us.view.record("a").failures == 0
        await asyncio.sleep(0.05)
        assert len(us.reader.reads) == reads


async def test_a_server_that_another_gateway_could_read_meanwhile_is_not_read_again() -> None:
    async with crew("a", freshness=Freshness(longest_retry_seconds=0.2)) as us:
        del us.reader.tools["a"]
        us.refresher.refresh_due()
        await eventually(lambda: us.is_idle and us.refresher.failure(us.spec("a")))
        us.store.save_reading("a", us.view.specs["a"].launch_key, ServerReading(IDENTITY, ()), us.clock())

        await eventually(lambda: us.refresher.failure(us.spec("a")) is None)

        assert us.reader.reads == ["a"]


async def test_a_server_known_to_be_broken_is_left_alone_until_its_time_has_come() -> None:
    async with crew("broken", "fresh") as us:
        await us.fail("broken", "it did not start")
        await us.catalog.follow()

        us.refresher.refresh_due()
        await eventually(lambda: us.is_idle and us.view.was_read("fresh"))
        us.clock.advance(FIRST_RETRY_SECONDS)
        us.refresher.refresh_due()
        await eventually(lambda: us.is_idle and us.view.was_read("broken"))

        assert us.reader.reads == ["fresh", "broken"]


async def test_servers_that_are_tried_anew_hold_up_none_that_is_read_for_the_first_time() -> None:
    async with crew("broken1", "broken2", "fresh", max_parallel=1) as us:
        for name in ("broken1", "broken2"):
            await us.fail(name, "it did not start")
            us.reader.gates[name] = asyncio.Event()
        await us.catalog.follow()
        us.clock.advance(FIRST_RETRY_SECONDS)

        us.refresher.refresh_due()
        await eventually(lambda: us.view.was_read("fresh"))

        assert us.reader.running == {"broken1"}


async def test_only_servers_that_are_read_for_the_first_time_count_as_being_read() -> None:
    async with crew("known", "broken", "failing", "fresh") as us:
        await us.save("known", tool("read"))
        await us.fail("broken", "it did not start")
        await us.catalog.follow()
        us.reader.again["failing"] = asyncio.Event()
        del us.reader.tools["failing"]
        us.reader.gates = {name: asyncio.Event() for name in ("known", "broken", "fresh")}

        for name in us.view.specs:
            us.refresher.refresh(us.spec(name))
        await eventually(lambda: us.refresher.failure(us.spec("failing")))

        assert us.pending == 1


async def test_nobody_waits_for_a_server_that_hung_here_before() -> None:
    async def hang(server: str) -> None:
        raise CallTimeout("did not finish starting within 60 s", server=server)

    async with crew("a") as us:
        us.reader.during = hang
        await need(us, "a")
        await eventually(lambda: us.is_idle)
        us.reader.during = None
        us.reader.gates["a"] = asyncio.Event()

        await need(us, "a")
        assert us.refresher.unread_failure(us.spec("a")).message == "did not finish starting within 60 s"
        await eventually(lambda: us.reader.reads == ["a", "a"])
        us.reader.gates["a"].set()
        await eventually(lambda: us.is_idle)
        assert us.refresher.unread_failure(us.spec("a")) is None


async def test_a_server_that_took_too_long_is_given_up_and_remembered() -> None:
    async with crew("a") as us:
        us.reader.gates["a"] = asyncio.Event()
        us.refresher.refresh(us.spec("a"))
        await eventually(lambda: us.reader.running)

        assert await us.refresher.give_up(us.spec("a"), 20)

        assert us.is_idle
        record = us.records()["a"]
        assert (record.error, record.error_code) == ("not read within 20 s", CallTimeout.code)
        assert us.store.try_lease(us.spec("a").launch_key, "them", us.clock(), 1.0)


async def test_a_server_that_another_gateway_is_reading_is_not_called_broken() -> None:
    async with crew("a") as us:
        us.store.try_lease(us.spec("a").launch_key, "them", us.clock(), LEASE_SECONDS)
        us.refresher.refresh(us.spec("a"))
        await asyncio.sleep(0)

        assert not await us.refresher.give_up(us.spec("a"), 20)

        assert (us.is_idle, us.records()) == (True, {})


async def test_a_reason_without_end_is_cut_before_it_is_kept() -> None:
    async def complain(server: str) -> None:
        raise ServerConnectionError("x" * 100_000, server=server)

    async with crew("a") as us:
        us.reader.during = complain
        await need(us, "a")

        assert len(us.records()["a"].error) == MOST_REASON_CHARACTERS


async def test_what_a_reading_leaves_out_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async with crew("a") as us:
        with caplog.at_level(logging.WARNING):
            await need(us, "a")

    assert "a: an entry without a name was skipped" in caplog.text


async def test_a_catalog_that_can_not_be_written_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with crew("a", store=FailingCatalog("save_reading", "release_lease")) as us:
        await need(us, "a")

        assert "the disk is gone" in caplog.text
        assert us.is_idle


# -- changes


async def test_a_flood_of_notices_is_one_more_reading() -> None:
    async with crew("a") as us:
        await need(us, "a")

        for _ in range(1000):
            us.refresher.changed(us.spec("a"))
        await eventually(lambda: len(us.reader.reads) == 2 and us.is_idle, COALESCE_SECONDS + 5)

        assert "a" not in us.refresher._soon


async def test_a_server_that_says_changed_at_every_reading_is_read_once_a_second_at_most() -> None:
    async with crew("a") as us:

        async def say_changed(server: str) -> None:
            us.refresher.changed(us.spec(server))
            us.refresher.changed(us.spec(server))

        us.reader.during = say_changed
        await need(us, "a")
        loop = asyncio.get_running_loop()
        began = loop.time()
        await eventually(lambda: len(us.reader.reads) >= 3, 10)

        assert loop.time() - began > 1.9 * COALESCE_SECONDS


async def test_asking_again_during_a_reading_is_one_more_reading() -> None:
    async with crew("a") as us:
        us.reader.gates["a"] = asyncio.Event()
        us.refresher.refresh(us.spec("a"))
        await eventually(lambda: us.reader.running)
        for _ in range(10):
            us.refresher.refresh(us.spec("a"))
        us.reader.gates["a"].set()

        await eventually(lambda: len(us.reader.reads) > 1 and us.is_idle, COALESCE_SECONDS + 5)
        assert us.reader.reads == ["a", "a"]


async def test_a_server_reconfigured_while_it_is_read_is_due_again() -> None:
    async with crew("a") as us:
        us.reader.gates["a"] = asyncio.Event()
        us.refresher.refresh(us.spec("a"))
        await eventually(lambda: us.reader.running)
        us.view.configure([replace(spec("a"), launch=StdioLaunch("new"))], RuleBook(()))
        us.reader.gates["a"].set()
        await eventually(lambda: us.is_idle)

        assert not us.view.was_read("a")


async def test_a_server_removed_while_it_waits_for_its_turn_is_not_read() -> None:
    async with crew("a", "b", max_parallel=1) as us:
        us.reader.gates["a"] = asyncio.Event()
        us.refresher.refresh_due()
        await eventually(lambda: us.reader.running)
        us.view.configure([], RuleBook(()))
        us.reader.gates["a"].set()
        await eventually(lambda: us.is_idle)

        assert us.reader.reads == ["a"]
        assert us.records() == {}


# -- several gateways


async def test_two_gateways_read_a_server_once_between_them() -> None:
    store = MemoryCatalog()
    async with crew("a", store=store, owner="us") as us, crew("a", store=store, owner="them") as them:
        us.reader.gates["a"] = asyncio.Event()
        ours = asyncio.create_task(need(us, "a"))
        await eventually(lambda: us.reader.running)
        theirs = asyncio.create_task(need(them, "a"))
        await asyncio.sleep(0)
        us.reader.gates["a"].set()
        await asyncio.gather(ours, theirs)

        assert (us.reader.reads, them.reader.reads) == (["a"], [])
        assert list(them.view.tools("a")) == ["read"]


async def test_a_lease_of_a_gateway_that_failed_is_taken_over() -> None:
    store = MemoryCatalog()
    async with crew("a", store=store, owner="us") as us, crew("a", store=store, owner="them") as them:
        us.reader.tools = {}
        us.reader.gates["a"] = asyncio.Event()
        ours = asyncio.create_task(need(us, "a"))
        await eventually(lambda: us.reader.running)
        theirs = asyncio.create_task(need(them, "a"))
        await asyncio.sleep(0)
        us.reader.gates["a"].set()
        await asyncio.gather(ours, theirs)

        assert them.reader.reads == ["a"]
        assert us.view.was_read("a") or list(them.view.tools("a")) == ["read"]


async def test_what_one_gateway_could_not_read_the_others_do_not_try_at_once_unless_somebody_waits() -> None:
    store = MemoryCatalog()
    async with crew("a", store=store, owner="us") as us, crew("a", store=store, owner="them") as them:
        us.reader.tools = {}
        us.reader.gates["a"] = asyncio.Event()
        us.refresher.refresh_due()
        await eventually(lambda: us.reader.running)
        them.refresher.refresh_due()
        us.clock.advance(1)
        us.reader.gates["a"].set()
        await eventually(lambda: us.is_idle and them.is_idle)

        assert (us.reader.reads, them.reader.reads) == (["a"], [])
        assert them.pending == 0


async def test_a_lease_left_behind_by_a_killed_gateway_runs_out() -> None:
    store = MemoryCatalog()
    async with crew("a", store=store) as us:
        store.try_lease(us.spec("a").launch_key, "killed", us.clock(), LEASE_SECONDS)
        us.clock.advance(LEASE_SECONDS)

        await need(us, "a")

        assert us.view.was_read("a")


async def test_leases_are_given_back_after_each_reading() -> None:
    async with crew("a") as us:
        await need(us, "a")

        assert us.store.try_lease(us.spec("a").launch_key, "another", us.clock(), 1.0)
