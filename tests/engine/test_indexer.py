"""Tools are learnt in the background, while the gateway serves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs import KINDS, FailingCatalog, open_catalog
from tests.fakes import Clock, eventually, spec, tool
from toolcrib.catalog.freshness import Freshness
from toolcrib.catalog.store import CatalogStore
from toolcrib.engine.indexer import Indexer
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.catalog_view import CatalogView

SPECS = {name: spec(name) for name in ("files", "mail")}
FILES = (tool("read_file", "Read a file."), tool("write_file", "Write a file."))
MAIL = (tool("send", "Send an email to somebody."),)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogStore]:
    with open_catalog(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "index"


def save(store: CatalogStore, server: str, *definitions: dict[str, Any], at: float = 1.0) -> None:
    reading = ServerReading(Identity("modern", "1"), definitions)
    store.save_reading(server, SPECS[server].launch_fingerprint(), reading, at)


def open_view(store: CatalogStore, path: Path | None = None) -> CatalogView:
    view = CatalogView(store, now=Clock(), cache_seconds=3600.0, freshness=Freshness(), index_path=path)
    view.configure(SPECS.values(), RuleBook(()))
    return view


@asynccontextmanager
async def studying(
    view: CatalogView,
    when_indexed: Callable[[], None] = lambda: None,
    *,
    when_learnt: Callable[[], None] = lambda: None,
) -> Any:
    indexer = Indexer(view, when_learnt)
    indexer.start(when_indexed)
    try:
        yield indexer
    finally:
        await indexer.close()


async def read_mail_meanwhile(store: CatalogStore, view: CatalogView, indexer: Indexer) -> None:
    """All is learnt, then another server is read, and that is learnt too."""
    assert await indexer.settle(30)
    save(store, "mail", *MAIL)
    view.invalidate("mail")
    assert await indexer.settle(30)


def found(view: CatalogView, query: str) -> list[str]:
    matches = view.search(query, server=None, limit=10, include_disabled=False)
    return [visible.tool.id for visible, _ in matches]


async def test_every_tool_is_indexed_learnt_and_written_down(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    save(store, "mail", *MAIL)
    view, called = open_view(store, path), list[int]()
    async with studying(view, lambda: called.append(len(view.search_index.index))) as indexer:
        assert await indexer.settle(30)
    assert called == [3]
    assert view.search_index.next_batch() is None
    assert view.search_index.to_write() is None
    assert path.is_file()
    assert found(view, "drop a colleague a note")[0] == "mail:send"


async def test_it_is_told_each_time_that_all_is_learnt(store: CatalogStore) -> None:
    save(store, "files", *FILES)
    view, left = open_view(store), list[object]()
    async with studying(view, when_learnt=lambda: left.append(view.search_index.next_batch())) as indexer:
        await read_mail_meanwhile(store, view, indexer)
    assert left == [None, None]


async def test_nobody_is_told_when_a_change_taught_nothing(store: CatalogStore) -> None:
    save(store, "files", *FILES)
    view, threads = open_view(store), list[int]()
    async with studying(view, when_learnt=lambda: threads.append(threading.get_ident())) as indexer:
        assert await indexer.settle(30)
        view.invalidate("files")
        assert await indexer.settle(30)
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


async def test_learning_goes_on_though_whoever_is_told_fails(store: CatalogStore) -> None:
    def fail() -> None:
        raise OSError("no memory to give back")

    save(store, "files", *FILES)
    view = open_view(store)
    async with studying(view, when_learnt=fail) as indexer:
        await read_mail_meanwhile(store, view, indexer)
    assert view.search_index.next_batch() is None
    assert found(view, "drop a colleague a note")[0] == "mail:send"


async def test_the_next_start_indexes_nothing_anew(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    async with studying(open_view(store, path)) as indexer:
        assert await indexer.settle(30)
    again = open_view(store, path)
    while again.index_next():
        pass
    assert again.search_index.to_write() is None
    assert again.search_index.next_batch() is None
    assert found(again, "read file")[0] == "files:read_file"


async def test_the_next_start_takes_over_only_what_changed(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    save(store, "mail", *MAIL)
    async with studying(open_view(store, path)) as indexer:
        assert await indexer.settle(30)
    save(store, "mail", *MAIL, tool("archive", "Archive an email."), at=2.0)
    again = open_view(store, path)
    while again.index_next():
        pass
    batch = again.search_index.next_batch()
    assert batch is not None
    assert [one.text for one in batch.tools] == ["mail archive: Archive an email."]
    assert again.search_index.to_write() is not None


async def test_a_start_without_its_index_file_recalls_the_vectors(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    async with studying(open_view(store, path)) as indexer:
        assert await indexer.settle(30)
    path.unlink()
    again = open_view(store, path)
    while again.index_next():
        pass
    assert again.search_index.next_batch() is None


async def test_a_server_read_later_is_learnt_too(store: CatalogStore) -> None:
    save(store, "files", *FILES)
    view = open_view(store)
    async with studying(view) as indexer:
        assert await indexer.settle(30)
        save(store, "mail", *MAIL, at=2.0)
        view.follow_others()
        assert await indexer.settle(30)
    assert view.search_index.next_batch() is None
    assert found(view, "drop a colleague a note")[0] == "mail:send"


async def test_settling_on_nothing_to_learn_is_quick(store: CatalogStore) -> None:
    async with studying(open_view(store)) as indexer:
        assert await indexer.settle(30)
        assert await indexer.settle(30)


class Slow(MemoryCatalog):
    """A catalog that keeps vectors only once it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.is_learning = threading.Event()
        self.may_go_on = threading.Event()

    def save_vectors(self, encoder: str, vectors: Mapping[bytes, bytes]) -> None:
        self.is_learning.set()
        assert self.may_go_on.wait(30)
        super().save_vectors(encoder, vectors)


@pytest.fixture
def slow() -> Iterator[Slow]:
    store = Slow()
    save(store, "files", *FILES)
    yield store
    store.may_go_on.set()


async def test_a_search_during_a_lesson_answers_by_words(slow: Slow) -> None:
    view, indexed = open_view(slow), list[bool]()
    async with studying(view, lambda: indexed.append(True)) as indexer:
        await eventually(slow.is_learning.is_set)
        assert indexed == [True]
        assert view.search_index.next_batch() is not None
        assert found(view, "please write the file")[0] == "files:write_file"
        slow.may_go_on.set()
        assert await indexer.settle(30)
    assert view.search_index.next_batch() is None


async def test_settling_waits_no_longer_than_asked(slow: Slow) -> None:
    async with studying(open_view(slow)) as indexer:
        await eventually(slow.is_learning.is_set)
        assert not await indexer.settle(0.01)
        slow.may_go_on.set()
        assert await indexer.settle(30)


async def test_a_server_that_goes_during_a_lesson_stays_gone(slow: Slow) -> None:
    view = open_view(slow)
    async with studying(view) as indexer:
        await eventually(slow.is_learning.is_set)
        view.configure([], RuleBook(()))
        assert found(view, "read file") == []
        slow.may_go_on.set()
        assert await indexer.settle(30)
    assert found(view, "read file") == []
    assert "files" not in view.search_index.index.servers


async def test_closing_during_a_lesson_does_not_wait_for_it(slow: Slow) -> None:
    async with studying(open_view(slow)) as indexer:
        await eventually(slow.is_learning.is_set)
        await indexer.close()
        assert not slow.may_go_on.is_set()
        slow.may_go_on.set()  # the loop waits for its threads when it ends


async def test_a_study_that_never_started_is_closed_without_harm(store: CatalogStore) -> None:
    indexer = Indexer(open_view(store))
    assert not await indexer.settle(0.01)
    await indexer.close()


async def test_an_error_that_nobody_foresaw_does_not_end_the_learning(
    store: CatalogStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(store, "files", *FILES)
    view, index_next = open_view(store), CatalogView.index_next

    def strained(_: CatalogView) -> bool:
        monkeypatch.setattr(CatalogView, "index_next", index_next)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(CatalogView, "index_next", strained)
    async with studying(view) as indexer:
        await read_mail_meanwhile(store, view, indexer)

        assert "can't start new thread" in caplog.text
        assert found(view, "send an email")[0] == "mail:send"


async def test_a_catalog_that_fails_does_not_end_the_study() -> None:
    store = FailingCatalog("servers", is_broken=False)
    save(store, "files", *FILES)
    view = open_view(store)
    store.is_broken = True
    indexer = Indexer(view)
    indexer.start(lambda: None)
    await indexer.settle(0.05)
    store.is_broken = False
    view.invalidate()
    try:
        assert await indexer.settle(5)
    finally:
        await indexer.close()
