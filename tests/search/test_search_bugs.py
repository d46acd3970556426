"""What once went wrong in the index, in what keeps it and in what fills it."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import spec
from tests.fakes import tool as definition
from tests.search.catalog import ISSUES
from tests.search.tiny_encoder import TinyEncoder
from tests.showroom import Showroom
from toolcrib.errors import IndexUnreadable
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.rules.rulebook import RuleBook
from toolcrib.search.clauses import clauses
from toolcrib.search.index import ToolIndex
from toolcrib.search.vectors import Vectors, quantized, stored_arrays
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.search_index import SearchIndex

TINY = TinyEncoder()


# tests/search/test_index_file.py
def test_opening_an_index_leaves_what_is_not_encoded_for_later(tmp_path: Path) -> None:
    index = ToolIndex(ISSUES[:4], encoder=TINY)
    index.add_words(ISSUES[4:])
    index.save(tmp_path / "index")
    encoder = TinyEncoder()
    loaded = ToolIndex.load(tmp_path / "index", encoder=encoder)
    assert encoder.encoded == []
    assert [one.text for one in loaded.unencoded(10)] == [one.text for one in index.unencoded(10)]


# tests/search/test_vectors.py
def test_as_many_as_there_are_can_be_asked_for() -> None:
    members = np.random.default_rng(1).normal(size=(2_000, 64)).astype(np.float32)
    vectors = Vectors(64, stored_arrays(*quantized(members)))
    assert sorted(vectors.nearest(members[0], 2_000, 2_000)) == list(range(2_000))


# tests/search/test_clauses.py
def test_a_long_gap_is_read_at_once() -> None:
    started = time.process_time()
    clauses("a" + " " * 4_000 + "b")
    assert time.process_time() - started < 0.1


def search_index(max_tools: int, path: Path | None = None) -> SearchIndex:
    return SearchIndex(MemoryCatalog(), path=path, max_tools=max_tools)


# tests/test_finder.py
def test_a_server_read_again_keeps_its_room() -> None:
    own = search_index(2)
    own.put("jira", ISSUES[2:4], "1")
    own.put("jira", ISSUES[2:4], "2")
    assert len(own.index) == 2


def shop(store: MemoryCatalog, *names: str, path: Path | None = None, max_indexed: int = 100) -> Showroom:
    index = SearchIndex(store, path=path, max_tools=max_indexed)
    made = Showroom(*map(spec, names), store=store, index=index)
    made.catalog.look()
    return made


def save(store: MemoryCatalog, server: str, *names: str) -> None:
    reading = ServerReading(Identity("modern", "1"), tuple(definition(name) for name in names))
    store.save_reading(server, spec(server).launch_key, reading, 1.0)


# tests/workspace/test_tool_search.py
def test_a_server_that_left_makes_room_for_another() -> None:
    store = MemoryCatalog()
    save(store, "old", "a", "b")
    save(store, "new", "c", "d")
    room = shop(store, "old", max_indexed=2)
    assert room.found("a") + room.found("b") == ["old:a", "old:b"]
    room.view.configure([spec("new")], RuleBook(()))
    assert room.found("c") + room.found("d") == ["new:c", "new:d"]


def test_more_room_brings_in_the_tools_that_were_left_out(tmp_path: Path) -> None:
    store = MemoryCatalog()
    save(store, "s", "a", "b")
    small = shop(store, "s", path=tmp_path / "index", max_indexed=1)
    assert small.found("a") == ["s:a"]
    job = small.index.to_write()
    assert job is not None
    job()
    assert shop(store, "s", path=tmp_path / "index").found("b") == ["s:b"]


# tests/search/test_index_file.py
@pytest.mark.parametrize("notes", [[], "x", 5])
def test_notes_of_another_shape_are_unreadable(tmp_path: Path, notes: Any) -> None:
    header = json.dumps({"__metadata__": notes}).encode()
    (tmp_path / "index").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(IndexUnreadable):
        ToolIndex.load(tmp_path / "index", encoder=TINY)


def test_an_index_without_one_of_its_arrays_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "index"
    ToolIndex(ISSUES, encoder=TINY).save(path)
    content = path.read_bytes()
    for name in (b"names.keys", b"tools.text", b"vectors.codes", b"terms.words"):
        path.write_bytes(content.replace(name, name[::-1]))
        with pytest.raises(IndexUnreadable):
            ToolIndex.load(path, encoder=TINY)


@settings(max_examples=300)
@given(st.integers(0, 1_500), st.integers(1, 255))
def test_a_header_with_one_byte_changed_is_unreadable_or_still_searched(
    tmp_path_factory: pytest.TempPathFactory, place: int, change: int
) -> None:
    path = tmp_path_factory.mktemp("x") / "index"
    ToolIndex(ISSUES, encoder=TINY).save(path)
    content = bytearray(path.read_bytes())
    header = int.from_bytes(content[:8], "little")
    content[place % (header + 8)] ^= change
    path.write_bytes(content)
    try:
        index = ToolIndex.load(path, encoder=TINY)
    except IndexUnreadable:
        return
    index.search("create an issue")
    index.add(ISSUES)


# tests/search/test_index_file.py
def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    ToolIndex(ISSUES, encoder=TINY).save(tmp_path / "index")
    assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == 0o600


# tests/test_finder.py
@pytest.mark.parametrize("kept", [b"", b"abc", b"\0" * 388, b"\xff" * 388])
def test_a_kept_vector_that_is_damaged_is_learnt_again(kept: bytes) -> None:
    store = MemoryCatalog()
    own = SearchIndex(store, path=None, max_tools=9)
    own.put("jira", ISSUES[2:3], "")
    (waiting,) = own.index.unencoded(9)
    store.save_vectors(own.index.encoder.identity, {waiting.key: kept})
    own.recall()
    assert own.next_lesson() is not None
