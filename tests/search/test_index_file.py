"""The index on disk: what comes back, and what is refused."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.search.catalog import ISSUES, ids, tool
from tests.search.tiny_encoder import TinyEncoder
from toolcrib.errors import IndexUnreadable
from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.search import index_file
from toolcrib.search.arrays_file import as_bytes
from toolcrib.search.index import ToolIndex

TINY = TinyEncoder()
MAIL = [tool("mail", "send", "Send a mail."), tool("mail", "list", "List mails.", title="Mails")]
QUERIES = ("create an issue", "send a mail", "github:create_issue", "weather", "mail", "lisst the comits")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index"


def answers(index: ToolIndex) -> list[list[ToolMatch]]:
    filtered = [index.search(query, server=server) for query in QUERIES for server in index.servers]
    return [index.search(query, limit=50) for query in QUERIES] + filtered


def stored(index: ToolIndex, path: Path) -> ToolIndex:
    index.save(path)
    return ToolIndex.load(path, encoder=TINY)


def add_mail(index: ToolIndex) -> None:
    index.add(MAIL)


def remove_jira(index: ToolIndex) -> None:
    index.remove("jira")


def replace_github(index: ToolIndex) -> None:
    index.replace("github", [ISSUES[0], tool("github", "star", "Star a repository.")], mark="2")
    index.add(())


def empty(index: ToolIndex) -> None:
    for server in index.servers:
        index.remove(server)


def nothing(_index: ToolIndex) -> None:
    pass


CHANGES = (add_mail, remove_jira, replace_github, empty, nothing)


@pytest.mark.parametrize("change", CHANGES)
def test_a_stored_index_answers_as_the_one_that_was_saved(path: Path, change: Callable[[ToolIndex], None]) -> None:
    index = ToolIndex(ISSUES, encoder=TINY)
    change(index)
    loaded = stored(index, path)
    assert answers(loaded) == answers(index)
    assert (len(loaded), loaded.servers) == (len(index), index.servers)
    assert [loaded.mark(server) for server in loaded.servers] == [index.mark(server) for server in index.servers]
    assert [one.text for one in loaded.unencoded(10)] == [one.text for one in index.unencoded(10)]


@pytest.mark.parametrize("change", CHANGES)
def test_a_stored_index_changes_as_a_fresh_one_and_can_be_saved_again(
    path: Path, change: Callable[[ToolIndex], None]
) -> None:
    fresh = ToolIndex(ISSUES, encoder=TINY)
    loaded = stored(fresh, path)
    change(fresh)
    change(loaded)
    assert answers(loaded) == answers(fresh)
    assert answers(stored(loaded, path)) == answers(fresh)


names = st.text("abA_ é1🎉\n", min_size=1, max_size=4).filter(lambda name: bool(name.strip()))
some_tools = st.lists(st.builds(tool, st.sampled_from("xyz"), names, st.text("ab ", max_size=12)), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.tuples(some_tools, st.sampled_from("xyz"), st.booleans()), max_size=4))
def test_any_history_of_changes_and_saves_answers_as_one_without_saves(
    path: Path, history: list[tuple[list[Tool], str, bool]]
) -> None:
    unsaved, saved = ToolIndex(encoder=TINY), ToolIndex(encoder=TINY)
    for tools, leaving, is_saved in history:
        for index in (unsaved, saved):
            index.remove(leaving)
            index.add(tools)
        if is_saved:
            saved = stored(saved, path)
    for query in ("a", "ab x", "x:a", "b é"):
        assert saved.search(query, limit=50) == unsaved.search(query, limit=50)


def test_a_stored_index_encodes_nothing_again(path: Path) -> None:
    ToolIndex(ISSUES, encoder=TINY).save(path)
    encoder = TinyEncoder()
    index = ToolIndex.load(path, encoder=encoder)
    index.add(ISSUES)
    assert encoder.encoded == []


def test_the_index_is_written_as_it_was_when_asked_for(path: Path) -> None:
    index = ToolIndex(ISSUES, encoder=TINY)
    write = index.writer()
    index.remove("jira")
    index.add(MAIL)
    write(path)
    assert answers(ToolIndex.load(path, encoder=TINY)) == answers(ToolIndex(ISSUES, encoder=TINY))


def test_an_open_index_goes_on_when_its_file_is_replaced_or_gone(path: Path) -> None:
    index = stored(ToolIndex(ISSUES, encoder=TINY), path)
    before = answers(index)
    ToolIndex(MAIL, encoder=TINY).save(path)
    assert answers(index) == before
    path.unlink()
    assert answers(index) == before


def test_changes_stay_out_of_the_file_until_they_are_saved(path: Path) -> None:
    index = stored(ToolIndex(ISSUES, encoder=TINY), path)
    before = path.read_bytes()
    index.remove("github")
    index.add(MAIL)
    assert path.read_bytes() == before


def test_saving_leaves_nothing_beside_the_file(path: Path) -> None:
    ToolIndex(ISSUES, encoder=TINY).save(path)
    assert list(path.parent.iterdir()) == [path]


def test_a_save_that_fails_keeps_the_old_file(path: Path) -> None:
    path.mkdir()
    with pytest.raises(OSError, match="index"):
        ToolIndex(ISSUES, encoder=TINY).save(path)
    assert list(path.parent.iterdir()) == [path]


def test_text_that_no_other_encoding_takes_comes_back(path: Path) -> None:
    odd = tool("s\ud800", "t\ud800", "lone \udfff", title="\0")
    assert stored(ToolIndex([odd], encoder=TINY), path).search("t\ud800")[0].tool == odd


# -- what is refused


def test_a_missing_file_is_unreadable(path: Path) -> None:
    with pytest.raises(IndexUnreadable, match="index"):
        ToolIndex.load(path, encoder=TINY)


def test_a_folder_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(IndexUnreadable):
        ToolIndex.load(tmp_path, encoder=TINY)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "index"
    ToolIndex(ISSUES, encoder=TINY).save(path)
    return path.read_bytes()


@given(part=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_unreadable(
    tmp_path_factory: pytest.TempPathFactory, whole: bytes, part: float
) -> None:
    path = tmp_path_factory.mktemp("cut") / "index"
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(IndexUnreadable):
        ToolIndex.load(path, encoder=TINY)
    shutil.rmtree(path.parent)


@given(content=st.binary(max_size=300))
def test_a_file_of_any_other_kind_is_unreadable(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "index"
    path.write_bytes(content)
    with pytest.raises(IndexUnreadable):
        ToolIndex.load(path, encoder=TINY)
    shutil.rmtree(path.parent)


def test_a_file_of_arrays_that_is_no_index_is_unreadable(path: Path) -> None:
    path.write_bytes(as_bytes({}, {"made_by": f"{index_file.FORMAT} tiny", "servers": json.dumps([["s", 1, ""]])}))
    with pytest.raises(IndexUnreadable, match="damaged"):
        ToolIndex.load(path, encoder=TINY)


def test_an_index_of_another_encoder_is_unreadable(path: Path) -> None:
    ToolIndex(ISSUES, encoder=TinyEncoder("former")).save(path)
    with pytest.raises(IndexUnreadable, match="another version"):
        ToolIndex.load(path, encoder=TINY)


def test_an_index_of_an_older_format_is_unreadable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ToolIndex(ISSUES, encoder=TINY).save(path)
    monkeypatch.setattr(index_file, "FORMAT", f"{index_file.FORMAT}.1")
    with pytest.raises(IndexUnreadable, match="another version"):
        ToolIndex.load(path, encoder=TINY)


@pytest.mark.parametrize("count", [4, 6])
def test_an_index_whose_parts_do_not_fit_together_is_unreadable(path: Path, count: int) -> None:
    ToolIndex([tool("s", f"t{number}") for number in range(5)], encoder=TINY).save(path)
    noted, other = rb"[[\"s\", 5, \"\"]]", rf"[[\"s\", {count}, \"\"]]".encode()
    assert noted in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(noted, other))
    with pytest.raises(IndexUnreadable, match="damaged"):
        ToolIndex.load(path, encoder=TINY)


def test_a_tool_of_a_stored_index_is_found_by_name_after_others_left(path: Path) -> None:
    index = stored(ToolIndex(ISSUES, encoder=TINY), path)
    index.remove("jira")
    assert [match.tool.id for match in index.search("create issue") if match.relevance == 1.0] == [
        "github:create_issue"
    ]
    assert "jira:delete_issue" not in ids(index.search("jira:delete_issue"))


def test_opening_an_index_leaves_what_is_not_encoded_for_later(tmp_path: Path) -> None:
    index = ToolIndex(ISSUES[:4], encoder=TINY)
    index.add_words(ISSUES[4:])
    index.save(tmp_path / "index")
    encoder = TinyEncoder()
    loaded = ToolIndex.load(tmp_path / "index", encoder=encoder)
    assert encoder.encoded == []
    assert [one.text for one in loaded.unencoded(10)] == [one.text for one in index.unencoded(10)]


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


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    ToolIndex(ISSUES, encoder=TINY).save(tmp_path / "index")
    assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == 0o600
