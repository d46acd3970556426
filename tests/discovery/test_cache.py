"""The discovery cache: memory and files, times, keys, and files that somebody else wrote."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Clock, tool
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.discovery.cache import CacheStats, MCPCache
from toolcrib.discovery.cache_key import registry_key, sanitised, tools_key
from toolcrib.engine.from_settings import open_cache
from toolcrib.storage.cache_files import FolderCache

TOOLS = [{"definition": tool("read")}, {"definition": tool("write")}]
DAY, HOUR = 86_400.0, 3_600.0


class Kept:
    """A cache over a folder, and new ones over the same folder as another process would open them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.cache = self.reopened()

    def reopened(self, **times: float) -> MCPCache:
        return MCPCache(FolderCache(self.folder), now=self.clock, **times)

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def write(self, name: str, content: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.file(name).write_bytes(data)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "cache")


# -- memory and files


def test_what_was_stored_is_there_in_memory_and_in_a_file(kept: Kept) -> None:
    kept.cache.store_tools("github", TOOLS, "launch")

    assert kept.cache.get_tools("github", "launch") == TOOLS
    assert kept.reopened().get_tools("github", "launch") == TOOLS
    written = json.loads(kept.file("tools_github").read_bytes())
    assert (written["server"], written["cached_at"]) == ("github", kept.clock())


def test_a_cache_without_a_folder_keeps_things_in_memory_only(tmp_path: Path) -> None:
    cache = MCPCache(None, now=Clock())
    cache.store_tools("github", TOOLS)

    assert cache.get_tools("github") == TOOLS
    cache.clear_server("github")
    assert cache.get_tools("github") is None
    cache.store_registry("maps", [])
    cache.clear()
    assert cache.get_registry("maps") is None


def test_registry_answers_are_kept_by_their_query(kept: Kept) -> None:
    kept.cache.store_registry("github issues", [{"name": "a/b"}])

    assert kept.reopened().get_registry("github issues") == [{"name": "a/b"}]
    assert kept.file("registry_github_issues").exists()
    assert kept.reopened().get_registry("github") is None


def test_an_empty_answer_is_an_answer(kept: Kept) -> None:
    kept.cache.store_tools("quiet", [])
    kept.cache.store_registry("nothing", [])

    assert (kept.reopened().get_tools("quiet"), kept.reopened().get_registry("nothing")) == ([], [])


def test_a_list_that_was_handed_out_is_a_copy(kept: Kept) -> None:
    kept.cache.store_tools("github", TOOLS)
    kept.cache.get_tools("github").clear()

    assert kept.cache.get_tools("github") == TOOLS


def test_files_are_readable_by_their_owner_only_and_nothing_half_written_stays(kept: Kept) -> None:
    kept.cache.store_tools("github", TOOLS)

    assert [path.name for path in kept.folder.iterdir()] == ["tools_github.json"]
    if sys.platform != "win32":
        assert stat.S_IMODE(kept.file("tools_github").stat().st_mode) == 0o600
        assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700


# -- time


def test_tools_are_kept_for_a_day_and_registry_answers_for_an_hour(kept: Kept) -> None:
    kept.cache.store_tools("github", TOOLS)
    kept.cache.store_registry("maps", [])
    kept.clock.advance(HOUR)
    assert kept.cache.get_registry("maps") == []
    kept.clock.advance(1)
    assert kept.cache.get_registry("maps") is None
    assert not kept.file("registry_maps").exists()
    kept.clock.advance(DAY - HOUR - 1)
    assert kept.cache.get_tools("github") == TOOLS
    kept.clock.advance(1)
    assert kept.cache.get_tools("github") is None
    assert not kept.file("tools_github").exists()


def test_an_entry_from_the_future_is_no_answer(kept: Kept) -> None:
    kept.cache.store_tools("github", TOOLS)
    kept.clock.advance(-1)

    assert kept.reopened().get_tools("github") is None


def test_a_time_of_nothing_serves_nothing_and_writes_nothing(kept: Kept) -> None:
    kept.cache.store_tools("github", TOOLS)
    off = kept.reopened(tool_ttl_seconds=0, registry_ttl_seconds=0)
    off.store_registry("maps", [])

    assert (off.get_tools("github"), off.get_registry("maps")) == (None, None)
    assert not kept.file("registry_maps").exists()


@pytest.mark.parametrize(
    ("text", "seconds", "warned"), [("60", 60.0, False), ("0", 0.0, False), ("soon", DAY, True), ("-5", DAY, True)]
)
def test_the_ccos_variables_move_the_folder_and_set_the_time(
    text: str, seconds: float, warned: bool, tmp_path: Path
) -> None:
    env = {"CCOS_MCP_CACHE_TTL": text, "CCOS_MCP_CACHE_DIR": str(tmp_path / "elsewhere")}
    settings = load_settings(env=env, cwd=tmp_path, home=tmp_path)
    cache = open_cache(settings, Paths.of(env), Clock())
    cache.store_registry("maps", [])

    assert cache.tool_ttl_seconds == seconds
    assert any("CCOS_MCP_CACHE_TTL" in warning for warning in settings.warnings) is warned
    assert (tmp_path / "elsewhere" / "registry_maps.json").exists()


def test_the_usual_times_are_a_day_and_an_hour(tmp_path: Path) -> None:
    cache = open_cache(load_settings(env={}, cwd=tmp_path, home=tmp_path), Paths.under(tmp_path))

    assert (cache.tool_ttl_seconds, cache.registry_ttl_seconds) == (DAY, HOUR)


# -- counting and clearing


def test_hits_and_misses_are_counted(kept: Kept) -> None:
    kept.cache.get_tools("github")
    kept.cache.store_tools("github", TOOLS)
    kept.cache.get_tools("github")
    kept.cache.get_tools("github")
    kept.cache.get_registry("maps")

    assert kept.cache.stats == CacheStats(hits=2, misses=2)


def test_one_server_can_be_cleared_and_everything_can(kept: Kept) -> None:
    for server in ("github", "gitlab"):
        kept.cache.store_tools(server, TOOLS)
    kept.cache.store_registry("maps", [])
    kept.write("mine", {"not": "ours"})

    kept.cache.clear_server("github")
    assert kept.cache.get_tools("github") is None
    assert kept.cache.get_tools("gitlab") == TOOLS
    kept.cache.clear()
    assert kept.cache.get_tools("gitlab") is None
    assert kept.cache.get_registry("maps") is None
    assert [path.name for path in kept.folder.iterdir()] == ["mine.json"]


# -- keys


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("github", "tools_github"),
        ("a/b", "tools_a_b"),
        ("../../etc/passwd", "tools_______etc_passwd"),
        ("ä b", "tools___b"),
    ],
)
def test_a_key_holds_letters_digits_and_dashes_only(name: str, key: str) -> None:
    assert tools_key(name) == key


def test_an_empty_or_long_name_ends_in_a_hash() -> None:
    long = "x" * 5000

    assert len(sanitised(long)) < 130
    assert sanitised(long) != sanitised(long + "y")
    assert sanitised("") not in {"", "_"}


@given(st.text())
def test_every_name_gives_a_file_inside_the_folder(name: str) -> None:
    files = FolderCache(Path("folder"))
    for key in (tools_key(name), registry_key(name)):
        assert files._path(key).parent == Path("folder")


def test_names_that_come_out_the_same_are_not_confused(kept: Kept) -> None:
    kept.cache.store_tools("a/b", TOOLS)

    assert kept.reopened().get_tools("a_b") is None
    assert kept.cache.get_tools("a_b") is None
    assert kept.reopened().get_tools("a/b") == TOOLS


def test_a_server_reached_in_another_way_is_another_server(kept: Kept) -> None:
    kept.cache.store_tools("github", TOOLS, "one launch")

    assert kept.cache.get_tools("github", "another launch") is None
    assert kept.cache.get_tools("github") == TOOLS


@pytest.mark.parametrize("key", ["../x", "tools_../x", "/etc/passwd", "tools_", "other_x", "tools_a\0"])
def test_a_key_that_is_none_reads_and_writes_nothing(key: str, tmp_path: Path) -> None:
    files = FolderCache(tmp_path / "cache")
    files.write(key, b"{}")
    files.delete(key)

    assert files.read(key) is None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


# -- files that are not what they should be


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"cached_at": "now"}',
        b"[" * 100_000,
        b'{"cached_at": 1000000, "server": "github", "tools": {"a": 1}}',
        b'{"cached_at": 1000000, "server": "github", "tools": ["read"]}',
        b'{"cached_at": NaN, "server": "github", "tools": []}',
        b'{"cached_at": 1e999, "server": "github", "tools": []}',
        b'{"server": "github", "tools": []}',
        b"__import__('os').system('true')",
        b"!!python/object/apply:os.system ['true']",
        b"\x80\x04\x95\x00",
        {"cached_at": 1_000_000, "server": "another", "tools": []},
    ],
)
def test_a_file_that_is_not_ours_to_the_letter_is_a_miss(content: Any, kept: Kept) -> None:
    kept.write("tools_github", content)

    assert kept.cache.get_tools("github") is None
    assert kept.cache.stats == CacheStats(0, 1)
    kept.cache.store_tools("github", TOOLS)
    assert kept.reopened().get_tools("github") == TOOLS


def test_a_file_nested_too_deeply_is_a_miss(kept: Kept) -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    kept.write("tools_github", {"cached_at": kept.clock(), "server": "github", "tools": [{"definition": deep}]})

    assert kept.cache.get_tools("github") is None


def test_a_file_that_is_too_large_is_neither_read_nor_written(tmp_path: Path) -> None:
    files = FolderCache(tmp_path, max_file_bytes=10)
    files.write("tools_a", b"x" * 11)
    assert files.read("tools_a") is None
    (tmp_path / "tools_a.json").write_bytes(b"x" * 11)
    assert files.read("tools_a") is None


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_a_link_or_a_pipe_under_the_name_of_a_file_is_not_followed(kept: Kept, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"cached_at": kept.clock(), "server": "linked", "tools": []}), encoding="utf-8")
    kept.folder.mkdir()
    kept.file("tools_linked").symlink_to(secret)
    os.mkfifo(kept.file("tools_pipe"))

    assert kept.cache.get_tools("linked") is None
    assert kept.cache.get_tools("pipe") is None
    kept.cache.store_tools("linked", TOOLS)
    assert "read" not in secret.read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_used_costs_only_the_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    cache = MCPCache(FolderCache(tmp_path / "file" / "cache"), now=Clock())
    cache.store_tools("github", TOOLS)

    assert cache.get_tools("github") == TOOLS
    cache.clear()
    assert cache.get_tools("github") is None


def test_text_that_utf_8_can_not_hold_is_not_cached(kept: Kept) -> None:
    kept.cache.store_tools("github", [{"definition": {"name": "\ud800"}}])

    assert kept.cache.get_tools("github") is None


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    files = FolderCache(tmp_path, max_files=3)
    for number in range(6):
        files.write(f"tools_s{number}", b"{}")
        os.utime(tmp_path / f"tools_s{number}.json", (number, number))

    assert {path.name for path in tmp_path.iterdir()} == {f"tools_s{number}.json" for number in (3, 4, 5)}


def test_memory_is_bounded(kept: Kept) -> None:
    cache = MCPCache(None, now=kept.clock)
    for number in range(1500):
        cache.store_registry(f"q{number}", [])

    assert sum(cache.get_registry(f"q{number}") is not None for number in range(1500)) == 1000


def test_many_threads_may_use_it_at_once(kept: Kept) -> None:
    wrong: list[object] = []

    def work(name: str) -> None:
        for _ in range(50):
            kept.cache.store_tools(name, TOOLS)
            if kept.cache.get_tools(name) not in (TOOLS, None):
                wrong.append(name)
            kept.cache.clear_server(name)

    threads = [threading.Thread(target=work, args=(f"s{number % 2}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert wrong == []
    assert kept.cache.stats.hits + kept.cache.stats.misses == 200
