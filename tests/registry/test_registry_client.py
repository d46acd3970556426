"""One registry over real HTTP: what is asked, what is understood, and what is done about trouble."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes import Clock
from tests.registry.asking import Waits, asking, mirror_at
from tests.servers.registry import ATLAS, POST, Fault, Registry, entry, serve
from toolcrib.errors import AuthenticationFailed, CallTimeout, RateLimited, RegistryError, ServerConnectionError
from toolcrib.limits.rate import RateLimiter
from toolcrib.limits.retry import RetryPolicy
from toolcrib.registry.client import servers_url
from toolcrib.registry.registries import Registries
from toolcrib.storage.memory_buckets import MemoryBuckets

pytestmark = pytest.mark.anyio


async def test_a_search_gives_the_newest_version_of_each_server(registry: Registry) -> None:
    async with asking(registry) as client:
        found = await client.search("acme")

    assert [(server.name, server.version) for server in found] == [
        ("io.github.acme/atlas", "1.2.0"),
        ("io.github.acme/ledger", "1.0.0"),
    ]
    assert registry.asked("search") == ["acme"]
    assert registry.asked("version") == ["latest"]
    assert registry.headers[0]["accept"] == "application/json"
    assert "authorization" not in registry.headers[0]


async def test_a_name_is_one_segment_of_the_address(registry: Registry) -> None:
    async with asking(registry) as client:
        server = await client.server("io.github.acme/atlas")
        assert server is not None
        assert server.version == "1.2.0"
        assert registry.paths == ["/v0.1/servers/io.github.acme%2Fatlas/versions/latest"]
        older = await client.server("io.github.acme/atlas", "1.1.0")
        assert older is not None
        assert older.description == "Maps"
        assert await client.server("io.github.acme/nothing") is None


async def test_an_old_registry_without_versions_is_asked_in_its_way(registry: Registry) -> None:
    registry.faults.extend([Fault(404), Fault(200, json.dumps(ATLAS["server"]).encode())])

    async with asking(registry) as client:
        server = await client.server("io.github.acme/atlas")

    assert server is not None
    assert registry.paths[-1] == "/v0.1/servers/io.github.acme%2Fatlas"


async def test_versions_come_newest_first(registry: Registry) -> None:
    registry.entries.append(entry("io.github.acme/atlas", version="0.9.0", latest=False))

    async with asking(registry) as client:
        versions = await client.versions("io.github.acme/atlas")
        assert await client.versions("io.github.acme/nothing") == []

    assert [server.version for server in versions] == ["1.2.0", "1.1.0", "0.9.0"]


async def test_pages_follow_the_cursor_to_the_end(registry: Registry) -> None:
    registry.page_size = 2

    async with asking(registry) as client:
        pages = [page async for page in client.pages()]

    assert [len(page.servers) for page in pages] == [2, 2]
    assert registry.asked("cursor") == ["", "2"]
    assert registry.asked("limit") == ["100", "100"]


async def test_a_list_that_never_ends_is_given_up(registry: Registry) -> None:
    registry.is_endless = True

    async with asking(registry) as client:
        with pytest.raises(RegistryError, match="never ends"):
            [page async for page in client.pages()]

    assert len(registry.requests) == 2


async def test_new_cursors_without_new_servers_are_given_up_too(registry: Registry) -> None:
    pages = [{"servers": [ATLAS], "metadata": {"nextCursor": f"c{number}"}} for number in range(50)]
    registry.faults.extend(Fault(200, json.dumps(page).encode()) for page in pages)

    async with asking(registry) as client:
        with pytest.raises(RegistryError):
            [page async for page in client.pages()]

    assert len(registry.requests) == 4


async def test_a_list_of_too_many_pages_is_given_up(registry: Registry) -> None:
    registry.page_size = 1

    async with asking(registry, most_pages=2) as client:
        with pytest.raises(RegistryError):
            [page async for page in client.pages()]

    assert len(registry.requests) == 2


async def test_too_many_requests_wait_as_long_as_the_registry_asks(registry: Registry) -> None:
    registry.faults.extend([Fault(429, headers={"Retry-After": "7"}), Fault(503)])
    waits = Waits()

    async with asking(registry, waits=waits) as client:
        assert await client.search("atlas")

    assert waits.seconds == [7.0, 2.0]
    assert waits.acquired == 3


async def test_a_wait_that_is_too_long_or_too_often_is_an_error_that_says_when(registry: Registry) -> None:
    registry.faults.append(Fault(429, headers={"Retry-After": "3600"}))
    async with asking(registry) as client:
        with pytest.raises(RateLimited) as limited:
            await client.search("atlas")
    assert limited.value.retry_after_seconds == 3600

    waits = Waits()
    registry.faults.extend([Fault(429)] * 9)
    async with asking(registry, waits=waits) as client:
        with pytest.raises(RateLimited):
            await client.search("atlas")
    assert waits.seconds == [1.0, 2.0, 4.0]


async def test_a_registry_that_stays_silent_is_a_timeout(registry: Registry) -> None:
    registry.faults.extend([Fault(is_silent=True)] * 2)

    async with asking(registry, seconds=0.1, retries=RetryPolicy(max_retries=1)) as client:
        with pytest.raises(CallTimeout):
            await client.search("atlas")

    assert len(registry.requests) == 2


async def test_nobody_at_the_address_is_an_error_at_once(registry: Registry) -> None:
    waits = Waits()

    async with asking(registry, waits=waits, base_url="http://127.0.0.1:9") as client:
        with pytest.raises(ServerConnectionError):
            await client.search("atlas")

    assert waits.seconds == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(200, b"<html>hello</html>"), RegistryError),
        (Fault(200, b'{"servers": "none"}'), RegistryError),
        (Fault(404), RegistryError),
        (Fault(400, b'{"error": "bad"}'), RegistryError),
        (Fault(401), AuthenticationFailed),
        (Fault(302, headers={"Location": "https://elsewhere.example/v0.1/servers"}), RegistryError),
    ],
)
async def test_an_answer_that_is_no_answer_is_an_error_and_not_asked_again(
    registry: Registry, fault: Fault, error: type[Exception]
) -> None:
    registry.faults.append(fault)

    async with asking(registry) as client:
        with pytest.raises(error):
            await client.search("atlas")

    assert len(registry.requests) == 1


async def test_an_answer_without_end_is_cut_off(registry: Registry) -> None:
    async with asking(registry, max_bytes=100) as client:
        with pytest.raises(RegistryError, match="too large"):
            await client.search("")


async def test_the_same_question_is_not_asked_again_while_its_answer_is_fresh(
    registry: Registry, tmp_path: Path
) -> None:
    clock = Clock()
    mirror = mirror_at(tmp_path, clock)

    async with asking(registry, answers=mirror) as client:
        first = await client.search("atlas")
        assert await client.search("atlas") == first
        assert len(registry.requests) == 1

        clock.advance(3600)
        assert await client.search("atlas") == first
        assert len(registry.requests) == 2
        assert registry.headers[1]["if-none-match"]

        assert await client.search("atlas") == first
        assert len(registry.requests) == 2
    mirror.close()


async def test_a_changed_answer_takes_the_place_of_the_old_one(registry: Registry, tmp_path: Path) -> None:
    clock = Clock()
    mirror = mirror_at(tmp_path, clock, fresh_seconds=0)
    registry.gives_etags = False

    async with asking(registry, answers=mirror) as client:
        await client.search("atlas")
        registry.entries = [POST]
        assert await client.search("atlas") == []
    mirror.close()


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("https://r.example", "https://r.example/v0.1/servers"),
        ("https://r.example/registry/mine", "https://r.example/registry/mine/v0.1/servers"),
        ("https://r.example/v0", "https://r.example/v0/servers"),
        ("https://r.example/v0.1", "https://r.example/v0.1/servers"),
        ("https://r.example/2025-09-15", "https://r.example/2025-09-15/servers"),
    ],
)
async def test_an_address_may_carry_a_path_and_a_version(base: str, expected: str) -> None:
    assert servers_url(base) == expected


# -- several


async def test_on_the_same_name_the_first_registry_wins(registry: Registry) -> None:
    other = Registry((entry("io.github.acme/atlas", "An impostor"), entry("org.other/atlas", "Another atlas")))
    with serve(other):
        async with asking(registry) as first, asking(other) as second:
            registries = Registries([first, second])
            found = await registries.search("atlas")
            server = await registries.server("io.github.acme/atlas")
            elsewhere = await registries.server("org.other/atlas")

    assert [(one.name, one.registry) for one in found.servers] == [
        ("io.github.acme/atlas", registry.url),
        ("org.other/atlas", other.url),
    ]
    assert server is not None
    assert server.registry == registry.url
    assert elsewhere is not None
    assert found.troubles == ()


async def test_a_registry_that_fails_costs_a_search_only_its_own_answers(registry: Registry) -> None:
    async with asking(registry, base_url="http://127.0.0.1:9") as broken, asking(registry) as sound:
        found = await Registries([broken, sound]).search("atlas")
        assert [server.name for server in found.servers] == ["io.github.acme/atlas"]
        assert len(found.troubles) == 1
        with pytest.raises(ServerConnectionError):
            await Registries([broken]).search("atlas")
        # The next registry may hold another server of that name.
        with pytest.raises(ServerConnectionError):
            await Registries([broken, sound]).server("io.github.acme/atlas")


async def test_several_words_are_asked_one_by_one_where_none_holds_them_all(registry: Registry) -> None:
    async with asking(registry) as client:
        found = await Registries([client]).search("geocoding bookkeeping")

    assert {server.short_name for server in found.servers} == {"atlas", "ledger"}
    assert registry.asked("search") == ["geocoding bookkeeping", "bookkeeping", "geocoding"]


# -- politeness


async def test_requests_keep_their_distance(registry: Registry) -> None:
    clock, waits = Clock(), Waits()

    async def sleep(seconds: float) -> None:
        await waits.sleep(seconds)
        clock.advance(seconds)

    limiter = RateLimiter(MemoryBuckets(clock), sleep=sleep)
    async with asking(registry, limiter=limiter) as client:
        for _ in range(3):
            await client.search("atlas")
        clock.advance(60)
        await client.search("atlas")

    assert waits.seconds == [0.5, 0.5]
