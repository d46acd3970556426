"""Bring the mirror up to date: all of a registry the first time, afterwards what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from toolcrib.errors import RegistryError
from toolcrib.registry.client import RegistryClient
from toolcrib.registry.mirror import Mirror, SyncState
from toolcrib.registry.pages import MOST_REASONS, Page

# Registries write while we read: what changed shortly before our last reading is asked for again.
_OVERLAP = timedelta(minutes=5)
# An interrupted reading is taken up again while its cursor can be expected to hold.
_RESUME_SECONDS = 86_400.0
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one reading brought; `skipped` gives the first reasons why entries were left out."""

    registry: str
    pages: int
    entries: int
    skipped: tuple[str, ...]
    is_full: bool
    was_resumed: bool
    skipped_count: int = 0


OnPage = Callable[[int, int], None]


async def sync(
    client: RegistryClient,
    mirror: Mirror,
    *,
    now: Callable[[], float],
    is_full: bool = False,
    on_page: OnPage = lambda _pages, _entries: None,
) -> SyncReport:
    """Read one registry into the mirror, page by page; what was read stays when the rest fails."""
    state, was_resumed = _begin(mirror.state(client.base_url), now(), is_full=is_full)
    try:
        return await _read(client, mirror, state, now, on_page, was_resumed=was_resumed)
    except RegistryError:
        if not was_resumed:
            raise
        # The registry may have forgotten the cursor.
        afresh, _ = _begin(replace(state, cursor="", began_at=None), now(), is_full=not state.since)
        return await _read(client, mirror, afresh, now, on_page, was_resumed=False)


def _begin(state: SyncState, now: float, *, is_full: bool) -> tuple[SyncState, bool]:
    """Where to read on: at the cursor of an interrupted reading, from the last change known, or from the start."""
    may_resume = state.cursor and state.began_at is not None and 0 <= now - state.began_at < _RESUME_SECONDS
    if may_resume and not (is_full and state.since):
        return state, True
    since = "" if is_full or state.done_at is None else _a_little_before(state.newest)
    run = state.run if since else state.run + 1
    return replace(state, run=run, since=since, cursor="", began_at=now), False


async def _read(
    client: RegistryClient,
    mirror: Mirror,
    state: SyncState,
    now: Callable[[], float],
    on_page: OnPage,
    *,
    was_resumed: bool,
) -> SyncReport:
    pages, entries, skipped_count = 0, 0, 0
    skipped: list[str] = []
    async for page in client.pages(cursor=state.cursor, updated_since=state.since):
        state = replace(state, cursor=page.next_cursor, newest=_newest(state.newest, page, now()))
        mirror.take(client.base_url, page.entries, state)
        pages, entries = pages + 1, entries + len(page.entries)
        skipped += page.skipped[: MOST_REASONS - len(skipped)]
        skipped_count += page.skipped_count
        on_page(pages, entries)
    is_full = not state.since
    done = replace(state, cursor="", began_at=None, done_at=now())
    mirror.finish(client.base_url, done, is_full=is_full)
    return SyncReport(client.base_url, pages, entries, tuple(skipped), is_full, was_resumed, skipped_count)


def _newest(known: str, page: Page, now: float) -> str:
    """The latest change seen; a time that has not come yet would hide all changes until then."""
    times = {server.updated_at: _time(server.updated_at) for server in page.servers}
    past = {text: time for text, time in times.items() if time is not None and time.timestamp() <= now}
    return max((known, *past), key=lambda text: past.get(text) or _time(text) or _LONG_AGO)


def _a_little_before(time: str) -> str:
    parsed = _time(time) or _LONG_AGO
    return "" if parsed <= _LONG_AGO else (parsed - _OVERLAP).isoformat().replace("+00:00", "Z")


def _time(text: str) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
