"""Tools are learnt in the background, while the gateway serves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs import KINDS, open_catalog
from tests.fakes import eventually, spec, tool
from tests.showroom import Showroom
from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.catalog.store import CatalogStore
from toolcrib.engine.indexer import Indexer
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.search_index import SearchIndex
from toolcrib.workspace.tool_search import ToolSearch

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
    store.save_reading(server, SPECS[server].launch_key, reading, at)


def open_shop(store: CatalogStore, path: Path | None = None) -> Showroom:
    shop = Showroom(*SPECS.values(), store=store, index=SearchIndex(store, path=path, max_tools=1_000))
    shop.catalog.look()
    return shop


def indexed(shop: Showroom) -> Showroom:
    while shop.search.index_next():
        pass
    return shop


@asynccontextmanager
async def studying(
    shop: Showroom,
    when_indexed: Callable[[], None] = lambda: None,
    *,
    when_learnt: Callable[[], None] = lambda: None,
) -> Any:
    indexer = Indexer(shop.index, lambda: [shop.search], when_learnt)
    shop.catalog.call_on_change(indexer.notice)
    indexer.start(when_indexed)
    try:
        yield indexer
    finally:
        await indexer.close()


async def read_mail_meanwhile(store: CatalogStore, shop: Showroom, indexer: Indexer) -> None:
    """All is learnt, then another server is read, and that is learnt too."""
    assert await indexer.settle(30)
    save(store, "mail", *MAIL)
    shop.catalog.look()
    assert await indexer.settle(30)


def found(shop: Showroom, query: str) -> list[str]:
    return shop.found(query)


async def test_every_tool_is_indexed_learnt_and_written_down(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    save(store, "mail", *MAIL)
    shop, called = open_shop(store, path), list[int]()
    async with studying(shop, lambda: called.append(len(shop.index.index))) as indexer:
        assert await indexer.settle(30)
    assert called == [3 + len(BUILT_IN_TOOLS)]
    assert shop.index.next_batch() is None
    assert shop.index.to_write() is None
    assert path.is_file()
    assert found(shop, "drop a colleague a note")[0] == "mail:send"


async def test_it_is_told_each_time_that_all_is_learnt(store: CatalogStore) -> None:
    save(store, "files", *FILES)
    shop, left = open_shop(store), list[object]()
    async with studying(shop, when_learnt=lambda: left.append(shop.index.next_batch())) as indexer:
        await read_mail_meanwhile(store, shop, indexer)
    assert left == [None, None]


async def test_nobody_is_told_when_a_change_taught_nothing(store: CatalogStore) -> None:
    save(store, "files", *FILES)
    shop, threads = open_shop(store), list[int]()
    async with studying(shop, when_learnt=lambda: threads.append(threading.get_ident())) as indexer:
        assert await indexer.settle(30)
        indexer.notice()
        assert await indexer.settle(30)
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


async def test_learning_goes_on_though_whoever_is_told_fails(store: CatalogStore) -> None:
    def fail() -> None:
        raise OSError("no memory to give back")

    save(store, "files", *FILES)
    shop = open_shop(store)
    async with studying(shop, when_learnt=fail) as indexer:
        await read_mail_meanwhile(store, shop, indexer)
    assert shop.index.next_batch() is None
    assert found(shop, "drop a colleague a note")[0] == "mail:send"


async def test_the_next_start_indexes_nothing_anew(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    async with studying(open_shop(store, path)) as indexer:
        assert await indexer.settle(30)
    again = indexed(open_shop(store, path))
    assert again.index.to_write() is None
    assert again.index.next_batch() is None
    assert found(again, "read file")[0] == "files:read_file"


async def test_the_next_start_takes_over_only_what_changed(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    save(store, "mail", *MAIL)
    async with studying(open_shop(store, path)) as indexer:
        assert await indexer.settle(30)
    save(store, "mail", *MAIL, tool("archive", "Archive an email."), at=2.0)
    again = indexed(open_shop(store, path))
    batch = again.index.next_batch()
    assert batch is not None
    assert [one.text for one in batch.tools] == ["mail archive: Archive an email."]
    assert again.index.to_write() is not None


async def test_a_start_without_its_index_file_recalls_the_vectors(store: CatalogStore, path: Path) -> None:
    save(store, "files", *FILES)
    async with studying(open_shop(store, path)) as indexer:
        assert await indexer.settle(30)
    path.unlink()
    again = indexed(open_shop(store, path))
    again.index.recall()
    assert again.index.next_batch() is None


async def test_a_server_read_later_is_learnt_too(store: CatalogStore) -> None:
    save(store, "files", *FILES)
    shop = open_shop(store)
    async with studying(shop) as indexer:
        assert await indexer.settle(30)
        save(store, "mail", *MAIL, at=2.0)
        shop.catalog.look()
        assert await indexer.settle(30)
    assert shop.index.next_batch() is None
    assert found(shop, "drop a colleague a note")[0] == "mail:send"


async def test_settling_on_nothing_to_learn_is_quick(store: CatalogStore) -> None:
    async with studying(open_shop(store)) as indexer:
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
    shop, indexed = open_shop(slow), list[bool]()
    async with studying(shop, lambda: indexed.append(True)) as indexer:
        await eventually(slow.is_learning.is_set)
        assert indexed == [True]
        assert shop.index.next_batch() is not None
        assert found(shop, "please write the file")[0] == "files:write_file"
        slow.may_go_on.set()
        assert await indexer.settle(30)
    assert shop.index.next_batch() is None


async def test_settling_waits_no_longer_than_asked(slow: Slow) -> None:
    async with studying(open_shop(slow)) as indexer:
        await eventually(slow.is_learning.is_set)
        assert not await indexer.settle(0.01)
        slow.may_go_on.set()
        assert await indexer.settle(30)


async def test_a_server_that_goes_during_a_lesson_stays_gone(slow: Slow) -> None:
    shop = open_shop(slow)
    async with studying(shop) as indexer:
        await eventually(slow.is_learning.is_set)
        shop.view.configure([], RuleBook(()))
        assert found(shop, "read file") == []
        slow.may_go_on.set()
        assert await indexer.settle(30)
    assert found(shop, "read file") == []
    assert not any(group.startswith("files") for group in shop.index.index.servers)


async def test_closing_during_a_lesson_does_not_wait_for_it(slow: Slow) -> None:
    async with studying(open_shop(slow)) as indexer:
        await eventually(slow.is_learning.is_set)
        await indexer.close()
        assert not slow.may_go_on.is_set()
        slow.may_go_on.set()  # the loop waits for its threads when it ends


async def test_a_study_that_never_started_is_closed_without_harm(store: CatalogStore) -> None:
    shop = open_shop(store)
    indexer = Indexer(shop.index, lambda: [shop.search])
    assert not await indexer.settle(0.01)
    await indexer.close()


async def test_an_error_that_nobody_foresaw_does_not_end_the_learning(
    store: CatalogStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(store, "files", *FILES)
    shop, index_next = open_shop(store), ToolSearch.index_next

    def strained(_: ToolSearch) -> bool:
        monkeypatch.setattr(ToolSearch, "index_next", index_next)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ToolSearch, "index_next", strained)
    async with studying(shop) as indexer:
        await read_mail_meanwhile(store, shop, indexer)

        assert "can't start new thread" in caplog.text
        assert found(shop, "send an email")[0] == "mail:send"
