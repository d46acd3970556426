"""The search index of an engine, kept over starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.catalogs import KINDS, open_catalog
from tests.search.catalog import ISSUES
from toolcrib.catalog.store import CatalogStore
from toolcrib.errors import StoreUnavailable
from toolcrib.model.tool import Tool
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.search_index import BATCH_TOOLS, SearchIndex, VectorStore

FORECAST = Tool.from_mcp("weather", {"name": "get_forecast", "description": "Forecast for a city."})
CURRENT = Tool.from_mcp("weather", {"name": "get_current", "description": "The weather now."})
ISSUE = Tool.from_mcp("github", {"name": "create_issue", "description": "Create an issue."})


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogStore]:
    with open_catalog(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "index"


def search_index(store: VectorStore, path: Path | None = None, *, max_tools: int = 1_000) -> SearchIndex:
    return SearchIndex(store, path=path, max_tools=max_tools)


def learn(own: SearchIndex) -> int:
    """Work through all batches; how many tools had to be encoded."""
    learnt = 0
    while (batch := own.next_batch()) is not None:
        own.take(batch, batch.learn())
        learnt += len(batch.tools)
    return learnt


def write(own: SearchIndex) -> None:
    job = own.to_write()
    assert job is not None
    job()


def filled(store: VectorStore, path: Path | None = None) -> SearchIndex:
    own = search_index(store, path)
    own.put("weather", [FORECAST, CURRENT], "w1")
    own.put("github", [ISSUE], "g1")
    return own


def first(own: SearchIndex, query: str) -> str:
    return own.index.search(query)[0].tool.id


def test_tools_are_found_by_their_words_before_they_are_learnt(store: CatalogStore) -> None:
    assert first(filled(store), "forecast for the city") == "weather:get_forecast"


def test_tools_are_found_by_their_meaning_once_they_are_learnt(store: CatalogStore) -> None:
    own = filled(store)
    assert learn(own) == 3
    assert first(own, "open a ticket about the bug") == "github:create_issue"


def test_a_lesson_is_short(store: CatalogStore) -> None:
    own = search_index(store)
    own.put("s", [Tool.from_mcp("s", {"name": f"t{number}"}) for number in range(BATCH_TOOLS + 1)], "")
    batch = own.next_batch()
    assert batch is not None
    assert len(batch.tools) == BATCH_TOOLS


def test_what_one_index_learnt_another_recalls_without_encoding(store: CatalogStore) -> None:
    learn(filled(store))
    other = filled(store)
    other.recall()
    assert other.next_batch() is None
    assert first(other, "open a ticket about the bug") == "github:create_issue"


def test_only_what_is_new_is_learnt_by_the_next(store: CatalogStore) -> None:
    learn(filled(store))
    other = filled(store)
    other.put("github", [ISSUE, Tool.from_mcp("github", {"name": "merge", "description": "Merge it."})], "g2")
    other.recall()
    batch = other.next_batch()
    assert batch is not None
    assert [tool.text for tool in batch.tools] == ["github merge: Merge it."]


def test_the_next_start_finds_the_index_as_it_was_written(store: CatalogStore, path: Path) -> None:
    own = filled(store, path)
    learn(own)
    write(own)
    other = search_index(store, path)
    assert other.is_current("weather", "w1")
    assert other.is_current("github", "g1")
    assert other.next_batch() is None
    assert other.to_write() is None
    assert other.index.search("forecast") == own.index.search("forecast")


def test_a_changed_server_is_taken_over_alone(store: CatalogStore, path: Path) -> None:
    own = filled(store, path)
    learn(own)
    write(own)
    other = search_index(store, path)
    assert not other.is_current("weather", "w2")
    other.put("weather", [FORECAST], "w2")
    other.recall()
    assert other.next_batch() is None
    assert sorted(match.tool.id for match in other.index.search("weather")) == [
        "github:create_issue",
        "weather:get_forecast",
    ]
    write(other)
    assert search_index(store, path).is_current("weather", "w2")


def test_groups_that_nobody_claims_are_dropped(store: CatalogStore) -> None:
    own = filled(store)
    own.claim("us", {"github", "never seen"})
    assert own.index.servers == ("github",)


def test_a_group_stays_as_long_as_one_of_several_claims_it(store: CatalogStore) -> None:
    own = filled(store)
    own.claim("us", {"github", "weather"})
    own.claim("them", {"github"})
    own.release("us")
    assert own.index.servers == ("github",)
    own.release("them")
    assert own.index.servers == ()


@pytest.mark.parametrize("content", [b"", b"something else", b"\xff" * 1_000])
def test_an_index_that_cannot_be_read_is_made_anew(store: CatalogStore, path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    own = filled(store, path)
    assert not own.is_current("elsewhere", "")
    assert first(own, "forecast for the city") == "weather:get_forecast"
    learn(own)
    write(own)
    assert search_index(store, path).is_current("weather", "w1")


def test_a_truncated_index_is_made_anew_and_its_vectors_are_recalled(store: CatalogStore, path: Path) -> None:
    own = filled(store, path)
    learn(own)
    write(own)
    path.write_bytes(path.read_bytes()[:-100])
    other = search_index(store, path)
    assert not other.is_current("weather", "w1")
    other.put("weather", [FORECAST, CURRENT], "w1")
    other.recall()
    assert other.next_batch() is None


def test_what_does_not_change_is_not_written_again(store: CatalogStore, path: Path) -> None:
    own = filled(store, path)
    write(own)
    assert own.to_write() is None
    learn(own)
    assert own.to_write() is not None
    assert search_index(store).to_write() is None


def test_an_index_that_cannot_be_written_harms_nobody(store: CatalogStore, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("in the way")
    own = filled(store, tmp_path / "a file" / "index")
    write(own)
    assert first(own, "forecast for the city") == "weather:get_forecast"


def test_no_more_tools_than_allowed_are_indexed(store: CatalogStore) -> None:
    own = search_index(store, max_tools=2)
    own.put("github", [ISSUE], "")
    own.put("weather", [FORECAST, CURRENT], "")
    assert [match.tool.id for match in own.index.search("weather", server="weather")] == ["weather:get_forecast"]


class Unavailable:
    """A store whose disk is gone."""

    def vectors(self, encoder: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        raise StoreUnavailable("the disk is gone")

    def save_vectors(self, encoder: str, vectors: Mapping[bytes, bytes]) -> None:
        raise StoreUnavailable("the disk is gone")


def test_tools_are_learnt_even_where_nothing_can_be_kept() -> None:
    own = filled(Unavailable())
    own.recall()
    assert learn(own) == 3
    assert first(own, "open a ticket about the bug") == "github:create_issue"


def test_a_server_read_again_keeps_its_room() -> None:
    own = search_index(MemoryCatalog(), max_tools=2)
    own.put("jira", ISSUES[2:4], "1")
    own.put("jira", ISSUES[2:4], "2")
    assert len(own.index) == 2


@pytest.mark.parametrize("kept", [b"", b"abc", b"\0" * 388, b"\xff" * 388])
def test_a_kept_vector_that_is_damaged_is_learnt_again(kept: bytes) -> None:
    store = MemoryCatalog()
    own = search_index(store)
    own.put("jira", ISSUES[2:3], "")
    (waiting,) = own.index.unencoded(9)
    store.save_vectors(own.index.encoder.identity, {waiting.key: kept})
    own.recall()
    assert own.next_batch() is not None
