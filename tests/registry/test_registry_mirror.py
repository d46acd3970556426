"""The copy of the registries on disk: filled page by page, resumed, kept up to date, and only a cache."""

from __future__ import annotations

import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import Clock
from tests.registry.asking import Waits, asking, mirror_at
from tests.servers.registry import ATLAS, LEDGER, PLAGUE, Fault, Registry, entry, serve
from toolcrib.errors import RegistryError, StoreUnavailable
from toolcrib.limits.retry import RetryPolicy
from toolcrib.registry.mirror import Mirror
from toolcrib.registry.sync import SyncReport, sync

pytestmark = pytest.mark.anyio
# 2026-03-01, a month after everything in the test registry was published.
START = 1_772_323_200.0
IMPATIENT = RetryPolicy(max_retries=0)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def mirror(tmp_path: Path, clock: Clock) -> Iterator[Mirror]:
    opened = mirror_at(tmp_path, clock)
    yield opened
    opened.close()


async def filled(registry: Registry, mirror: Mirror, clock: Clock, *, is_full: bool = False) -> SyncReport:
    async with asking(registry, retries=IMPATIENT, waits=Waits()) as client:
        return await sync(client, mirror, now=clock, is_full=is_full)


def names(mirror: Mirror, registry: Registry) -> list[str]:
    return [server.name for server in mirror.servers([registry.url])]


async def test_a_first_sync_copies_the_newest_version_of_every_server(
    registry: Registry, mirror: Mirror, clock: Clock
) -> None:
    assert mirror.read_at([registry.url]) is None

    report = await filled(registry, mirror, clock)

    assert (report.is_full, report.was_resumed, report.entries, report.skipped) == (True, False, 4, ())
    assert mirror.read_at([registry.url]) == START
    assert names(mirror, registry) == [
        *("com.example/post", "io.github.acme/atlas", "io.github.acme/ledger", "org.example/brochure"),
    ]
    atlas = mirror.server("IO.GITHUB.acme/Atlas", [registry.url])
    assert atlas is not None
    assert atlas.packages[0].identifier == "@acme/atlas"
    assert mirror.server("io.github.acme/nothing", [registry.url]) is None


async def test_the_next_sync_asks_only_for_what_changed(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    await filled(registry, mirror, clock)
    clock.advance(3600)
    registry.entries = [
        entry("io.github.acme/atlas", "Maps of the Moon", version="2.0.0", updated="2026-02-03T00:00:00Z"),
        entry("io.github.acme/ledger", "Gone", version="1.0.0", status="deleted", updated="2026-02-03T00:00:00Z"),
        PLAGUE,
    ]

    report = await filled(registry, mirror, clock)

    assert not report.is_full
    assert registry.asked("updated_since")[-1] == "2026-01-31T23:55:00Z"
    assert names(mirror, registry) == ["com.example/post", "io.github.acme/atlas", "org.example/brochure"]
    moon = mirror.server("io.github.acme/atlas", [registry.url])
    assert moon is not None
    assert moon.version == "2.0.0"
    assert mirror.read_at([registry.url]) == START + 3600


async def test_a_full_sync_forgets_what_is_no_longer_listed(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    await filled(registry, mirror, clock)
    registry.entries = [ATLAS]

    report = await filled(registry, mirror, clock, is_full=True)

    assert report.is_full
    assert names(mirror, registry) == ["io.github.acme/atlas"]


async def test_an_interrupted_sync_goes_on_where_it_stopped(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    registry.page_size = 2

    with pytest.raises(RegistryError):
        await _sync_with_second_page_failing(registry, mirror, clock)
    assert mirror.read_at([registry.url]) is None
    assert len(names(mirror, registry)) == 2
    report = await filled(registry, mirror, clock)

    assert (report.was_resumed, report.is_full) == (True, True)
    assert registry.asked("cursor") == ["", "2", "2"]
    assert len(names(mirror, registry)) == 4
    assert mirror.read_at([registry.url]) == START


async def _sync_with_second_page_failing(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    def fail_next(pages: int, _entries: int) -> None:
        registry.faults.append(Fault(500))

    async with asking(registry, retries=IMPATIENT) as client:
        await sync(client, mirror, now=clock, on_page=fail_next)


async def test_a_cursor_the_registry_forgot_means_beginning_again(
    registry: Registry, mirror: Mirror, clock: Clock
) -> None:
    registry.page_size = 2
    with pytest.raises(RegistryError):
        await _sync_with_second_page_failing(registry, mirror, clock)
    registry.faults.append(Fault(400))

    report = await filled(registry, mirror, clock)

    assert not report.was_resumed
    assert len(names(mirror, registry)) == 4


async def test_a_cursor_of_yesterday_is_not_used(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    registry.page_size = 2
    with pytest.raises(RegistryError):
        await _sync_with_second_page_failing(registry, mirror, clock)
    clock.advance(2 * 86_400)

    report = await filled(registry, mirror, clock)

    assert not report.was_resumed
    assert registry.asked("cursor")[-2:] == ["", "2"]


async def test_a_registry_that_lists_all_versions_leaves_the_newest(mirror: Mirror, clock: Clock) -> None:
    versions = (("1.0.0", "active"), ("1.10.0", "active"), ("1.9.0", "active"), ("1.2.0", "deleted"))
    listed = [entry("a/b", version=version, status=status, latest=False) for version, status in versions]
    with serve(Registry(listed, lists_everything=True)) as registry:
        await filled(registry, mirror, clock)
        found = mirror.server("a/b", [registry.url])

    assert found is not None
    assert found.version == "1.10.0"


async def test_a_time_that_has_not_come_does_not_hide_later_changes(mirror: Mirror, clock: Clock) -> None:
    with serve(
        Registry((ATLAS, entry("a/late", updated="9999-01-01T00:00:00Z"), entry("a/odd", updated="soon")))
    ) as registry:
        await filled(registry, mirror, clock)
        await filled(registry, mirror, clock)

        assert registry.asked("updated_since") == ["", "2026-01-31T23:55:00Z"]


async def test_an_unfit_entry_is_counted_and_the_rest_is_kept(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    registry.entries.extend([{"server": {"name": "not a name"}}] * 30)

    report = await filled(registry, mirror, clock)

    assert (len(report.skipped), report.skipped_count) == (20, 30)
    assert len(names(mirror, registry)) == 4


async def test_the_first_registry_wins_in_the_copy_too(registry: Registry, mirror: Mirror, clock: Clock) -> None:
    with serve(Registry((entry("io.github.acme/atlas", "An impostor"), entry("org.other/atlas", "Another")))) as other:
        await filled(registry, mirror, clock)
        assert mirror.read_at([registry.url, other.url]) is None
        await filled(other, mirror, clock)

    both = [registry.url, other.url]
    by_name = {server.name: server.registry for server in mirror.servers(both)}
    assert by_name["io.github.acme/atlas"] == registry.url
    assert by_name["org.other/atlas"] == other.url
    assert {server.name: server.registry for server in mirror.servers(both[::-1])}["io.github.acme/atlas"] == other.url
    named = mirror.server("io.github.acme/atlas", both[::-1])
    assert named is not None
    assert named.description == "An impostor"
    assert mirror.servers(["https://unknown.example"]) == []


def test_looking_makes_no_file(tmp_path: Path, mirror: Mirror) -> None:
    assert mirror.read_at(["https://registry.example"]) is None
    assert not (tmp_path / "cache").exists()


async def test_the_copy_is_private(registry: Registry, mirror: Mirror, clock: Clock, tmp_path: Path) -> None:
    await filled(registry, mirror, clock)

    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / "cache" / "registry.db").stat().st_mode) == 0o600


async def test_a_damaged_copy_is_begun_anew(registry: Registry, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "registry.db"
    path.parent.mkdir()
    path.write_bytes(b"this is no database, but long enough to look like a file" * 100)
    mirror = mirror_at(tmp_path, clock)

    assert mirror.get("https://registry.example") is None
    path.write_bytes(b"not a database either, and long enough to look like one" * 100)
    with pytest.raises(StoreUnavailable):
        mirror.read_at([registry.url])
    await filled(registry, mirror, clock)

    assert len(names(mirror, registry)) == 4
    mirror.close()


async def test_a_copy_of_another_shape_is_emptied(registry: Registry, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "registry.db"
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE servers (one TEXT)")
    db.execute("PRAGMA user_version = 99")
    db.close()
    mirror = mirror_at(tmp_path, clock)

    assert mirror.read_at([registry.url]) is None
    await filled(registry, mirror, clock)

    assert LEDGER["server"]["name"] in names(mirror, registry)
    mirror.close()


async def test_only_the_latest_answers_are_kept(mirror: Mirror, clock: Clock) -> None:
    for number in range(510):
        clock.advance(1)
        mirror.put(f"https://registry.example/{number}", "", b"{}")

    assert mirror.get("https://registry.example/0") is None
    assert mirror.get("https://registry.example/509") is not None
