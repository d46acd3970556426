"""Servers found by what they do: in the copy, live, and as a hint beside a search that found nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes import Clock
from tests.registry.asking import asking, mirror_at
from tests.servers.registry import Registry, entry
from toolcrib.errors import NotInRegistry
from toolcrib.registry.hints import MirrorHints
from toolcrib.registry.lookup import RegistryLookup
from toolcrib.registry.mirror import Mirror, Mirrored
from toolcrib.registry.registries import Registries
from toolcrib.registry.search import RegistryIndex
from toolcrib.registry.sync import sync
from toolcrib.registry.trust import OFFICIAL_REGISTRY, tier_of

pytestmark = pytest.mark.anyio


def known(name: str, description: str = "", *, title: str = "", status: str = "active", registry: str = "") -> Mirrored:
    return Mirrored(name, title, description, status, registry or OFFICIAL_REGISTRY)


SHELF = (
    known("io.github.acme/atlas", "Maps, routes and geocoding"),
    known("com.example/post", "Send and read e-mail"),
    known("io.github.jane/github-issues", "Read and write issues on GitHub"),
    known("io.github.jane/clock", "The time in any city"),
    known("com.acme/atlas", "Maps, routes and geocoding"),
)


async def test_servers_are_found_by_what_they_do_and_say_why() -> None:
    (first, *_) = RegistryIndex(SHELF).search("send an e-mail")

    assert first.server.name == "com.example/post"
    assert first.reasons == ("matches 'send', 'e-mail'", "the publisher proved that they own a domain")
    assert 0 < first.relevance <= 1


async def test_the_full_name_of_a_server_puts_it_first_alone_or_not() -> None:
    hits = RegistryIndex(SHELF).search("IO.github.acme/atlas")

    assert hits[0].server.name == "io.github.acme/atlas"
    assert hits[0].relevance == 1.0
    assert len({hit.server.name for hit in hits}) == len(hits)


async def test_the_namespace_of_code_hosts_is_no_word_to_search_for() -> None:
    hits = RegistryIndex(SHELF).search("github")

    assert [hit.server.name for hit in hits] == ["io.github.jane/github-issues"]


async def test_among_equals_the_better_known_publisher_comes_first_and_a_deprecated_one_last() -> None:
    same = "Rotate and crop pictures"
    hits = RegistryIndex(
        [
            known("x.y/a", same, registry="https://other.example"),
            known("io.github.jane/b", same),
            known("com.example/c", same),
            known("io.modelcontextprotocol/d", same),
            known("org.example/e", same, status="deprecated"),
        ]
    ).search("crop pictures")

    assert [hit.server.name[-1] for hit in hits] == list("dcbae")
    assert "deprecated by its publisher" in hits[-1].reasons


async def test_servers_of_the_same_short_name_are_all_found() -> None:
    hits = RegistryIndex([*SHELF, known("io.gitlab.acme/atlas", "Maps too")]).search("atlas maps")

    assert {hit.server.name for hit in hits} >= {"io.github.acme/atlas", "com.acme/atlas", "io.gitlab.acme/atlas"}


async def test_what_another_registry_says_of_itself_is_not_official() -> None:
    assert tier_of("io.modelcontextprotocol/everything", OFFICIAL_REGISTRY) == "official"
    assert tier_of("io.modelcontextprotocol/everything", "https://mirror.example") == "unknown"


# -- looking up


@pytest.fixture
def clock() -> Clock:
    return Clock(1_772_323_200.0)


@pytest.fixture
def mirror(tmp_path: Path, clock: Clock) -> Iterator[Mirror]:
    opened = mirror_at(tmp_path, clock)
    yield opened
    opened.close()


def lookup(registry: Registry, mirror: Mirror | None, clock: Clock) -> RegistryLookup:
    @asynccontextmanager
    async def live() -> AsyncIterator[Registries]:
        async with asking(registry) as client:
            yield Registries([client])

    return RegistryLookup([registry.url], mirror, live, now=clock)


async def fill(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    async with asking(registry) as client:
        await sync(client, mirror, now=clock)
    registry.requests.clear()


async def test_without_a_copy_the_registries_are_asked(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    found = await lookup(registry, mirror, clock).search("geocoding")

    assert (found.place, found.read_at) == ("live", clock())
    assert [hit.server.name for hit in found.hits] == ["io.github.acme/atlas"]
    assert len(registry.requests) == 1


async def test_with_a_copy_nobody_is_asked_and_the_answer_says_how_old_it_is(
    registry: Registry, mirror: Mirror, clock: Clock
) -> None:
    await fill(registry, mirror, clock)
    clock.advance(7200)

    found = await lookup(registry, mirror, clock).search("maps and routes")
    one = await lookup(registry, mirror, clock).server("io.github.acme/atlas")

    assert (found.place, clock() - found.read_at) == ("mirror", 7200)
    assert found.hits[0].server.name == "io.github.acme/atlas"
    assert (one.place, one.server.version) == ("mirror", "1.2.0")
    assert registry.requests == []


@pytest.mark.parametrize("is_copied", [True, False])
async def test_an_unknown_name_comes_with_those_it_may_have_meant(
    registry: Registry, mirror: Mirror, clock: Clock, is_copied: bool
) -> None:
    if is_copied:
        await fill(registry, mirror, clock)

    with pytest.raises(NotInRegistry) as unknown:
        await lookup(registry, mirror, clock).server("io.github.acne/atlas")

    assert unknown.value.details["nearest"][0] == "io.github.acme/atlas"


async def test_a_copy_that_cannot_be_read_is_passed_over(registry: Registry, clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "cache" / "registry.db").mkdir(parents=True)
    broken = mirror_at(tmp_path, clock)

    found = await lookup(registry, broken, clock).search("geocoding")

    assert found.place == "live"


# -- hints


class Aside:
    """Work put aside until the test lets it run."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def run(self) -> None:
        for work in self.waiting:
            work()
        self.waiting.clear()


async def test_hints_come_from_the_copy_once_it_was_read_aside(
    registry: Registry, mirror: Mirror, clock: Clock
) -> None:
    await fill(registry, mirror, clock)
    aside = Aside()
    hints = MirrorHints(mirror, [registry.url], now=clock, run_aside=aside)

    assert hints.names("maps routes geocoding") == ()
    aside.run()

    assert hints.names("maps routes geocoding") == ("io.github.acme/atlas",)
    assert hints.names("knit a jumper") == ()
    assert hints.names("double-entry bookkeeping postgresql") == ()  # deprecated
    assert registry.requests == []


async def test_hints_follow_the_copy(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    aside = Aside()
    hints = MirrorHints(mirror, [registry.url], now=clock, run_aside=aside)
    hints.names("loom weaving")
    aside.run()
    registry.entries = [entry("io.github.acme/loom", "Weaving patterns for a loom")]
    await fill(registry, mirror, clock)

    clock.advance(61)
    hints.names("loom weaving")
    aside.run()

    assert hints.names("loom weaving") == ("io.github.acme/loom",)


async def test_there_are_no_hints_without_a_copy(mirror: Mirror, clock: Clock, tmp_path: Path) -> None:
    aside = Aside()
    hints = MirrorHints(mirror, ["https://registry.example"], now=clock, run_aside=aside)

    hints.names("maps")
    aside.run()

    assert hints.names("maps") == ()
    assert not (tmp_path / "cache").exists()


def test_an_index_that_was_kept_answers_as_a_fresh_one_and_replaces_older_ones(tmp_path: Path) -> None:
    older, newer = tmp_path / "registry-1.index", tmp_path / "registry-2.index"
    RegistryIndex(SHELF, kept_at=older)
    fresh = RegistryIndex(SHELF, kept_at=newer).search("send an e-mail")
    assert [path.name for path in tmp_path.iterdir()] == ["registry-2.index"]
    assert RegistryIndex(SHELF, kept_at=newer).search("send an e-mail") == fresh


def test_a_damaged_kept_index_is_made_anew(tmp_path: Path) -> None:
    place = tmp_path / "registry-1.index"
    place.write_bytes(b"nonsense")
    assert RegistryIndex(SHELF, kept_at=place).search("send an e-mail") == RegistryIndex(SHELF).search("send an e-mail")
