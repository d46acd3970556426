from __future__ import annotations

from pathlib import Path

from toolcrib.config.paths import Paths


def test_one_folder_can_hold_everything():
    paths = Paths.of({"TOOLCRIB_HOME": "/t"})
    root = Path("/t")
    assert paths == Paths(root, root, root / "cache")
    assert paths.config_file == root / "toolcrib.yaml"
    assert paths.catalog == root / "catalogue.db"
    assert paths.audit_log == root / "audit.jsonl"
    assert paths.token == root / "token"
    assert paths.logs_dir == root / "logs"
    assert paths.results_dir == root / "results"


def test_without_it_the_platform_decides():
    paths = Paths.of({})
    assert {path.is_absolute() for path in (paths.config_dir, paths.state_dir, paths.cache_dir)} == {True}
    assert "toolcrib" in {path.name for path in (paths.config_dir, *paths.config_dir.parents)}


def test_the_cache_can_be_moved_on_its_own():
    assert Paths.of({"TOOLCRIB_HOME": "/t", "CCOS_MCP_CACHE_DIR": "/c"}).cache_dir == Path("/c")
    both = {"TOOLCRIB_HOME": "/t", "CCOS_MCP_CACHE_DIR": "/c", "TOOLCRIB_CACHE_DIR": "/d"}
    assert Paths.of(both).cache_dir == Path("/d")


def test_asking_for_paths_creates_nothing(tmp_path):
    Paths.of({"TOOLCRIB_HOME": str(tmp_path / "t")})
    assert list(tmp_path.iterdir()) == []


def test_the_cache_lies_in_a_folder_of_the_platform_and_not_in_the_working_directory() -> None:
    folder = Paths.of({}).cache_dir

    assert folder.is_absolute()
    assert Path.cwd() not in (folder, *folder.parents)
